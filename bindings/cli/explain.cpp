#include "bindings/cli/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "algorithms/registered.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/selection.hpp"

namespace lacuna::cli {
namespace {

constexpr std::size_t width = 4;  // bytes of an element

std::uint64_t bytes_of(const Graph& graph, const Region& region, Rank position, std::size_t count) {
  if (region.is_signal()) return 0;
  if (has_blocks(graph.shape().collective)) return count;
  const Region there = placed(graph, region, position);
  return boundary(there.end, count, there.of) - boundary(there.begin, count, there.of);
}

/// Steps of all positions in an order in which each comes after those that it waits for; and what each waits for.
class Chain {
 public:
  explicit Chain(const std::vector<Graph>& graphs) : graphs_(graphs), lengths_(graphs.size()), waits_(graphs.size()) {
    for (std::size_t me = 0; me < graphs.size(); ++me) {
      const Graph& graph = graphs[me];
      lengths_[me].assign(graph.steps().size(), 0);
      waits_[me].assign(graph.predecessor_counts().begin(), graph.predecessor_counts().end());
      for (StepId id = 0; id < graph.steps().size(); ++id) {
        const Step& step = graph.steps()[id];
        if (!step.receives()) continue;
        ++waits_[me][id];  // for its message
        receives_[{peer(me, step), me, step.index}] = id;
      }
      for (StepId root : graph.roots()) release(me, root);
    }
  }

  /// The number of messages in the longest one.
  int length() {
    int longest = 0;
    while (!ready_.empty()) {
      const auto [me, id] = ready_.back();
      ready_.pop_back();
      const Step& step = graphs_[me].steps()[id];
      longest = std::max(longest, lengths_[me][id]);
      for (StepId next : graphs_[me].successors(id)) follow(me, next, lengths_[me][id]);
      if (!step.sends()) continue;
      const std::size_t to = peer(me, step);
      follow(to, receives_.at({me, to, step.index}), lengths_[me][id] + 1);
    }
    return longest;
  }

 private:
  std::size_t peer(std::size_t me, const Step& step) const {
    return (me + static_cast<std::size_t>(step.peer)) % graphs_.size();
  }
  void release(std::size_t me, StepId id) {
    if (waits_[me][id] == 0) ready_.emplace_back(me, id);
  }
  void follow(std::size_t me, StepId id, int length) {
    lengths_[me][id] = std::max(lengths_[me][id], length);
    --waits_[me][id];
    release(me, id);
  }

  const std::vector<Graph>& graphs_;
  std::vector<std::vector<int>> lengths_;          // by position and step: messages up to its end
  std::vector<std::vector<std::uint32_t>> waits_;  // likewise: steps and messages that have not come
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t>, StepId> receives_;  // by sender, receiver, index
  std::vector<std::pair<std::size_t, StepId>> ready_;
};

std::string name_bytes(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

std::string reason(const ExplainOptions& options, const Call& call) {
  if (!options.algorithm.empty()) return "it was asked for";
  const Preference* row = preference(call, options.hosts);
  if (!row) return "the first of its collective: no rule for other sizes or numbers of ranks fits";
  static constexpr const char* where[] = {"", " on 2^k ranks", " on several hosts with as many ranks each"};
  const bool bounded = row->up_to_bytes < std::numeric_limits<std::size_t>::max();
  return fmt::format("{}{}: {}", bounded ? "up to " + name_bytes(row->up_to_bytes) : "any size",
                     where[static_cast<std::size_t>(row->where)], row->reason);
}

}  // namespace

double Cost::seconds(double latency, double rate) const {
  return steps * latency + static_cast<double>(host_bytes) / rate;
}

Cost cost_of(const Algorithm& algorithm, const Hosts& hosts, std::size_t count, std::size_t element) {
  const std::vector<Graph> graphs = *graphs_of(algorithm, hosts);  // select_algorithm() took it
  Cost cost{.steps = Chain(graphs).length()};
  struct Moved {
    std::uint64_t out = 0, in = 0;
  };
  std::vector<Moved> by_rank(graphs.size()), by_host(static_cast<std::size_t>(hosts.count()));
  for (Rank me = 0; me < hosts.size(); ++me) {
    const Graph& graph = graphs[static_cast<std::size_t>(me)];
    for (const Step& step : graph.steps()) {
      if (!step.sends()) continue;
      const Rank to = (me + step.peer) % hosts.size(), here = hosts.host_of(me), there = hosts.host_of(to);
      const std::uint64_t bytes = element * bytes_of(graph, step.from, me, count);
      by_rank[static_cast<std::size_t>(me)].out += bytes;
      by_rank[static_cast<std::size_t>(to)].in += bytes;
      if (here != there) by_host[static_cast<std::size_t>(here)].out += bytes;
      if (here != there) by_host[static_cast<std::size_t>(there)].in += bytes;
      cost.total_bytes += bytes;
    }
  }
  for (const Moved& rank : by_rank) cost.rank_bytes = std::max({cost.rank_bytes, rank.out, rank.in});
  for (const Moved& host : by_host) cost.host_bytes = std::max({cost.host_bytes, host.out, host.in});
  return cost;
}

int explain(const ExplainOptions& options) {
  Call call{.collective = options.collective, .count = options.bytes / width};
  call.options.algorithm = options.algorithm;
  const Hosts& hosts = options.hosts;
  const auto taken = select_algorithm(call, hosts);
  if (!taken) {
    fmt::print(stderr, "lacuna explain: {}\n", taken.status().message());
    return 1;
  }
  fmt::print("{} of {}{} on {} ranks of {} hosts: {}\n  {}\n\n", to_string(options.collective),
             name_bytes(options.bytes), has_blocks(options.collective) ? " per block" : "", hosts.size(), hosts.count(),
             (*taken)->name, reason(options, call));
  fmt::print("  {:<20} {:>6} {:>14} {:>14} {:>14} {:>12}\n", "algorithm", "steps", "busiest rank", "busiest host",
             "all ranks", "predicted");
  for (const Algorithm* algorithm : all_algorithms()) {
    if (algorithm->collective != options.collective) continue;
    if (algorithm->supports && !algorithm->supports(call, hosts)) continue;
    const Cost cost = cost_of(*algorithm, hosts, call.count, width);
    fmt::print("{} {:<20} {:>6} {:>14} {:>14} {:>14} {:>9.1f} us\n", algorithm == *taken ? ">" : " ", algorithm->name,
               cost.steps, name_bytes(cost.rank_bytes), name_bytes(cost.host_bytes), name_bytes(cost.total_bytes),
               cost.seconds(options.latency, options.rate) * 1e6);
  }
  fmt::print("\n  predicted: steps x {:.4g} us + the busiest host's bytes / {:.4g} MB/s, without overlap\n",
             options.latency * 1e6, options.rate / 1e6);
  return 0;
}

}  // namespace lacuna::cli
