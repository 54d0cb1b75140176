#include "bindings/cli/explain/cost.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "runtime/graph/graph_cost.hpp"

namespace lacuna::cli {

PartPlan part_of(const Call& call, const Algorithm& algorithm, const Hosts& hosts) {
  Plan plan;
  make_plan({call, algorithm, hosts, std::numeric_limits<std::size_t>::max()}, plan);
  const auto find = [&](bool dense) {
    return std::find_if(plan.parts.begin(), plan.parts.end(),
                        [&](const PartPlan& part) { return !part.beside && (dense || !part.is_dense()); });
  };
  const auto lossy = find(false), any = find(true);
  if (lossy != plan.parts.end()) return *lossy;
  return any != plan.parts.end() ? *any : PartPlan();
}

bool depends_on_data(const Call& call, const Hosts& hosts) {
  const auto algorithm = asks_for_method(call) ? select_algorithm(call, hosts) : nullptr;
  if (!algorithm || !*algorithm) return false;
  if (method_of(call, **algorithm)->find(**algorithm)->predictions) return true;
  const PartPlan part = part_of(call, **algorithm, hosts);
  const Algorithm& program = part.program ? *part.program : **algorithm;
  return cost_of(program, hosts, call.count, call.dtype, {.parameters = part.structure.parameters}).depends_on_data;
}

double messages_in_turn(const Cost& cost) { return std::max<double>(cost.steps, cost.rank_messages / 2.0); }

double predicted_seconds(const Cost& cost, const ExplainOptions& options) {
  const Hosts& hosts = options.hosts;
  if (cost.steps == 0) return 0;
  const auto bytes = static_cast<double>(cost.rank_bytes);
  Rank most = 0;
  for (Rank host = 0; host < hosts.count(); ++host) most = std::max(most, hosts.ranks_on(host));
  const int processors = std::max(std::min<int>(options.processors, most), 1);
  const TimeCurve& one = cost.on_board      ? options.inside.rows
                         : cost.maps_copies ? options.inside.copies
                                            : options.inside.messages;
  if (hosts.count() == 1) {
    const double in_turn = messages_in_turn(cost), share = options.inside.share();
    const auto all = static_cast<double>(cost.total_messages);
    return share * std::max(in_turn * one.seconds(bytes / in_turn),
                            all * one.seconds(static_cast<double>(cost.total_bytes) / all) / processors);
  }
  const double between = cost.steps * options.latency + static_cast<double>(cost.host_bytes) / options.rate;
  return most == 1 ? between : std::max(between, options.inside.share() * one.seconds(bytes) * most / processors);
}

Cost cost_of(const Algorithm& algorithm, const Hosts& hosts, std::size_t count, Dtype dtype,
             const Structure& structure) {
  Structure copying = structure;
  copying.maps_copies = may_map_copies(algorithm, hosts);
  Graphs graphs = *graphs_of(algorithm, hosts, {.structure = copying});  // the call was accepted
  Cost cost{.steps = runtime::rounds_of(graphs.distinct())};
  struct Moved {
    std::uint64_t out = 0, in = 0;
    int messages = 0;
  };
  std::vector<Moved> by_rank(static_cast<std::size_t>(hosts.size())), by_host(static_cast<std::size_t>(hosts.count()));
  const auto move = [&](Rank from, Rank to, std::uint64_t bytes) {
    Moved &sender = by_rank[static_cast<std::size_t>(from)], &receiver = by_rank[static_cast<std::size_t>(to)];
    sender.out += bytes;
    receiver.in += bytes;
    ++sender.messages;
    ++receiver.messages;
    ++cost.total_messages;
    cost.total_bytes += bytes;
    const Rank here = hosts.host_of(from), there = hosts.host_of(to);
    if (here == there) return;
    by_host[static_cast<std::size_t>(here)].out += bytes;
    by_host[static_cast<std::size_t>(there)].in += bytes;
  };
  for (Rank me = 0; me < hosts.size(); ++me) {
    const Graph& graph = graphs.at(me);
    for (const BufferInfo& buffer : graph.tables().buffers) cost.maps_copies = cost.maps_copies || buffer.mappable;
    for (const Step& step : graph.steps()) {
      if (!step.sends() && !step.meets()) continue;
      const std::uint64_t bytes = runtime::amount_in(graph, step.from, me, count).bytes_of(dtype);
      if (step.sends()) move(me, (me + step.peer) % hosts.size(), bytes);
      for (Rank other = 0; step.meets() && other < hosts.size(); ++other) {
        if (other != me) move(me, other, bytes);
      }
      cost.on_board = cost.on_board || step.meets();
    }
  }
  for (const Moved& rank : by_rank) {
    cost.rank_bytes = std::max({cost.rank_bytes, rank.out, rank.in});
    cost.rank_messages = std::max(cost.rank_messages, rank.messages);
  }
  for (const Moved& host : by_host) cost.host_bytes = std::max({cost.host_bytes, host.out, host.in});
  cost.depends_on_data = runtime::GraphCost(std::move(graphs)).of(0, count).depends_on_data;
  return cost;
}

Contributors contributors_of(const Algorithm& algorithm, const Hosts& hosts, std::size_t count,
                             const Structure& structure) {
  runtime::GraphCost costs(*graphs_of(algorithm, hosts, {.structure = structure}));
  const runtime::PartCost& cost = costs.of(0, count);
  if (cost.reduced == 0) return {};
  return {cost.fewest, static_cast<double>(cost.contributions) / static_cast<double>(cost.reduced)};
}

}  // namespace lacuna::cli
