#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
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

/// The names of the priorities, in the order of their numbers.
inline constexpr std::array<std::string_view, priorities> priority_texts = {"high", "normal", "low"};

inline std::map<std::string, Priority> priority_names() {
  std::map<std::string, Priority> names;
  for (std::size_t i = 0; i < priorities; ++i) names.emplace(priority_texts[i], static_cast<Priority>(i));
  return names;
}

inline auto collective_names() { return names_of<Collective>(all_collectives); }
/// The names of the types with which a program can fill a buffer from numbers: real and complex ones.
inline auto dtype_names() {
  std::map<std::string, Dtype> names = names_of<Dtype>(real_dtypes);
  for (Dtype dtype : {Dtype::C64, Dtype::C128}) names.emplace(to_string(dtype), dtype);
  return names;
}
inline auto reduction_names() { return names_of<Reduction>(all_reductions); }

}  // namespace lacuna::cli
