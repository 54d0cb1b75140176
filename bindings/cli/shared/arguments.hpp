#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/values/call.hpp"
#include "runtime/values/hosts.hpp"

namespace lacuna::cli {

/// Returns the names that a command line takes for the values of an enumeration.
template <class T, class List>
std::map<std::string, T> names_of(const List& values) {
  std::map<std::string, T> names;
  for (T value : values) names.emplace(std::string(to_string(value)), value);
  return names;
}

/// Returns hosts with that many ranks on each, in order.
inline Hosts hosts_with(const std::vector<Rank>& ranks_on_each) {
  std::vector<std::size_t> names;
  for (std::size_t host = 0; host < ranks_on_each.size(); ++host) {
    names.insert(names.end(), static_cast<std::size_t>(ranks_on_each[host]), host);
  }
  return Hosts(names);
}

inline auto collective_names() { return names_of<Collective>(all_collectives); }
inline auto dtype_names() { return names_of<Dtype>(all_dtypes); }
inline auto reduction_names() { return names_of<Reduction>(all_reductions); }

}  // namespace lacuna::cli
