#include "algorithms/registry/verified_graphs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/graph/graphs.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna {
namespace {

constexpr Rank checked_at_once = 16;
constexpr Rank most_checked = 64;  // the cost grows with the square of the steps

/// Returns what the graphs of this algorithm depend on.
Hosts key_of(const Algorithm& algorithm, const Hosts& hosts) {
  return algorithm.by_hosts ? hosts : Hosts(hosts.size());
}

/// Returns `size` ranks on one host and, if the algorithm is by_hosts, also on two hosts and on as many hosts as ranks.
std::vector<Hosts> hosts_of(const Algorithm& algorithm, Rank size) {
  std::vector<Hosts> all = {size};
  for (Rank on_each : {(size + 1) / 2, 1}) {
    std::vector<Rank> numbers;
    for (Rank rank = 0; rank < size; ++rank) numbers.push_back(rank / on_each);
    const Hosts some = key_of(algorithm, Hosts(numbers));
    if (std::find(all.begin(), all.end(), some) == all.end()) all.push_back(some);
  }
  return all;
}

Status check_graphs(const Algorithm& algorithm, const Hosts& hosts, bool in_place) {
  for (bool maps_copies : {false, true}) {
    if (maps_copies && !algorithm.maps_copies) break;
    const auto graphs = graphs_of(algorithm, hosts, {.structure = {.in_place = in_place, .maps_copies = maps_copies}});
    if (Status fits = graphs ? lacuna::verify(graphs->all()) : graphs.status(); !fits) return fits;
  }
  return {};
}

}  // namespace

Status check_graphs(const Algorithm& algorithm, const Hosts& hosts) {
  for (bool in_place : {false, true}) {
    if (Status fits = check_graphs(algorithm, hosts, in_place); !fits) {
      const std::string where = hosts.count() > 1 ? fmt::format(" of {} hosts", hosts.count()) : "";
      return {fits.code(),
              fmt::format("{} {} on {}{}{}: {}", to_string(algorithm.collective), algorithm.name,
                          count_of(hosts.size(), "rank"), where, in_place ? ", in place" : "", fits.message())};
    }
  }
  return {};
}

Status VerifiedGraphs::begin(const Algorithm& algorithm) {
  Entry entry{.algorithm = &algorithm, .verified = {}};
  for (Rank size = 1; size <= checked_at_once; ++size) {
    for (const Hosts& hosts : hosts_of(algorithm, size)) {
      if (algorithm.supports && !algorithm.supports({.collective = algorithm.collective}, hosts)) continue;
      if (Status fits = check_graphs(algorithm, hosts); !fits) return fits;
      entry.verified.push_back(hosts);
    }
  }
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
  return {};
}

Status VerifiedGraphs::verify(const Algorithm& algorithm, const Hosts& hosts) {
  if (hosts.size() > most_checked) return {};
  const Hosts wanted = key_of(algorithm, hosts);
  const std::lock_guard lock(mutex_);
  const auto entry =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) { return one.algorithm == &algorithm; });
  if (entry == entries_.end()) return {};
  auto& verified = entry->verified;
  if (std::find(verified.begin(), verified.end(), wanted) != verified.end()) return {};
  if (Status fits = check_graphs(algorithm, wanted); !fits) return fits;
  verified.push_back(wanted);
  return {};
}

}  // namespace lacuna
