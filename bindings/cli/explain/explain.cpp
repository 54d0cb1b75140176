#include "bindings/cli/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

#include "algorithms/registry/preferences.hpp"
#include "algorithms/registry/registry.hpp"
#include "bindings/cli/explain/sparse.hpp"
#include "runtime/graph/graph_cost.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

std::string reason(const ExplainOptions& options, const Call& call) {
  if (!options.algorithm.empty()) return "it was asked for";
  const Preference* row = preference(call, options.hosts);
  if (asks_for_method(call)) return fmt::format("the method {} chooses it", call.options.method.method()->name);
  if (!row) return "it is the first of its collective, and no rule prefers another for this size and number of ranks";
  static constexpr const char* where[] = {"", " on 2^k ranks", " on several hosts with as many ranks each"};
  const bool bounded = row->up_to_bytes < std::numeric_limits<std::size_t>::max();
  return fmt::format("{}{}: {}", bounded ? "up to " + name_bytes(static_cast<double>(row->up_to_bytes)) : "any size",
                     where[static_cast<std::size_t>(row->where)], row->reason);
}

}  // namespace

std::string name_bytes(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.4g} {}", bytes, units[unit]);
}

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

double Cost::seconds(double latency, double rate) const {
  return steps * latency + static_cast<double>(host_bytes) / rate;
}

Cost cost_of(const Algorithm& algorithm, const Hosts& hosts, std::size_t count, Dtype dtype,
             const Structure& structure) {
  Graphs graphs = *graphs_of(algorithm, hosts, {.structure = structure});  // the call was accepted
  Cost cost{.steps = runtime::rounds_of(graphs.distinct())};
  struct Moved {
    std::uint64_t out = 0, in = 0;
  };
  std::vector<Moved> by_rank(static_cast<std::size_t>(hosts.size())), by_host(static_cast<std::size_t>(hosts.count()));
  for (Rank me = 0; me < hosts.size(); ++me) {
    const Graph& graph = graphs.at(me);
    for (const Step& step : graph.steps()) {
      if (!step.sends()) continue;
      const Rank to = (me + step.peer) % hosts.size(), here = hosts.host_of(me), there = hosts.host_of(to);
      const std::uint64_t bytes = runtime::amount_in(graph, step.from, me, count).bytes_of(dtype);
      by_rank[static_cast<std::size_t>(me)].out += bytes;
      by_rank[static_cast<std::size_t>(to)].in += bytes;
      if (here != there) by_host[static_cast<std::size_t>(here)].out += bytes;
      if (here != there) by_host[static_cast<std::size_t>(there)].in += bytes;
      cost.total_bytes += bytes;
    }
  }
  for (const Moved& rank : by_rank) cost.rank_bytes = std::max({cost.rank_bytes, rank.out, rank.in});
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

namespace {

void show_dense(const ExplainOptions& options, const Call& call, const Algorithm* taken) {
  fmt::print("  {:<20} {:>6} {:>14} {:>14} {:>14} {:>12}\n", "algorithm", "rounds", "busiest rank", "busiest host",
             "all ranks", "predicted");
  for (const Algorithm* algorithm : all_algorithms()) {
    if (algorithm->collective != options.collective) continue;
    if (algorithm->supports && !algorithm->supports(call, options.hosts)) continue;
    const Cost cost = cost_of(*algorithm, options.hosts, call.count, call.dtype);
    fmt::print("{} {:<20} {:>6} {:>14} {:>14} {:>14} {:>9.1f} us\n", algorithm == taken ? ">" : " ", algorithm->name,
               cost.steps, name_bytes(static_cast<double>(cost.rank_bytes)),
               name_bytes(static_cast<double>(cost.host_bytes)), name_bytes(static_cast<double>(cost.total_bytes)),
               cost.seconds(options.latency, options.rate) * 1e6);
  }
}

/// Returns the method's measure that heads a column, if it has one and its plan tells it.
const Measure* headline_of(const Method& method) {
  const Measure* headline = find(method.measures, MeasureRole::Headline);
  return headline && headline->by == CountedBy::Plan ? headline : nullptr;
}
std::string headline_column(const Method& method, std::string_view text) {
  return headline_of(method) ? fmt::format(" {:>5}", text) : std::string();
}

/// Shows an algorithm that serves the method beside itself without the method, or why it can't do what is asked.
void show_serving(const ExplainOptions& options, const Call& call, const MethodAlgorithm& one, bool taken) {
  const char mark = taken ? '>' : ' ';
  const Algorithm& algorithm = *one.algorithm;
  const auto check = options.method.method()->check;
  if (const Status valid = check ? check(call, algorithm, options.hosts) : Status(); !valid) {
    return fmt::print("{} {:<22} {}\n", mark, one.name, valid.message());
  }
  Plan plan;
  make_plan({call, algorithm, options.hosts, std::numeric_limits<std::size_t>::max()}, plan);
  const PartPlan part = part_of(call, algorithm, options.hosts);
  const Structure structure{.parameters = part.structure.parameters};
  const Algorithm& program = part.program ? *part.program : algorithm;
  const Cost cost = cost_of(program, options.hosts, call.count, call.dtype, structure);
  const Cost dense = cost_of(one.dense ? *one.dense : algorithm, options.hosts, call.count, call.dtype);
  const Contributors there = contributors_of(program, options.hosts, call.count, structure);
  const Method& method = *options.method.method();
  const Measure* headline = headline_of(method);
  const std::string number =
      headline_column(method, headline ? fmt::to_string(plan.measures.value(*headline)) : std::string());
  const double saved = static_cast<double>(dense.total_bytes) - static_cast<double>(cost.total_bytes);
  const double share = dense.total_bytes > 0 ? saved / static_cast<double>(dense.total_bytes) : 0;
  if (cost.depends_on_data) {
    return fmt::print("{} {:<22}{} {:>6} {:>6} {:>14} {:>14}\n", mark, one.name, number, cost.steps,
                      dense.steps - cost.steps, "by data", "by data");
  }
  fmt::print("{} {:<22}{} {:>6} {:>6} {:>14} {:>14} {:>6.1f}% {:>7} {:>6} {:>9.1f} us\n", mark, one.name, number,
             cost.steps, dense.steps - cost.steps, name_bytes(static_cast<double>(cost.rank_bytes)),
             name_bytes(static_cast<double>(cost.total_bytes)), 100 * share,
             there.fewest > 0 ? fmt::to_string(there.fewest) : "-",
             there.fewest > 0 ? fmt::format("{:.2f}", there.mean) : "-",
             cost.seconds(options.latency, options.rate) * 1e6);
}

void show_method(const ExplainOptions& options, const Call& call, const Algorithm* taken) {
  const Method& method = *options.method.method();
  const Measure* headline = headline_of(method);
  fmt::print("  {}\n", options.method.text());
  fmt::print("  {:<22}{} {:>6} {:>6} {:>14} {:>14} {:>7} {:>14} {:>12}\n", "", headline_column(method, ""), "",
             "rounds", "", "", "bytes", "contributors", "");
  fmt::print("  {:<22}{} {:>6} {:>6} {:>14} {:>14} {:>7} {:>7} {:>6} {:>12}\n", "algorithm",
             headline_column(method, headline ? headline->name : ""), "rounds", "saved", "busiest rank", "all ranks",
             "saved", "fewest", "mean", "predicted");
  for (const MethodAlgorithm& one : method.algorithms) {
    if (one.algorithm->collective != options.collective) continue;
    if (one.algorithm->supports && !one.algorithm->supports(call, options.hosts)) continue;
    show_serving(options, call, one, one.algorithm == taken);
  }
}

}  // namespace

int explain(const ExplainOptions& options) {
  Call call{.collective = options.collective, .count = options.bytes / size_of(Dtype::F32)};
  call.options.algorithm = options.algorithm;
  call.options.method = options.method;
  MethodState state;
  call.options.state = &state;
  const Hosts& hosts = options.hosts;
  const auto taken = select_algorithm(call, hosts);
  if (!taken) {
    fmt::print(stderr, "lacuna explain: {}\n", taken.status().message());
    return 1;
  }
  fmt::print("{} of {}{} on {} of {}: {}\n  {}\n\n", to_string(options.collective),
             name_bytes(static_cast<double>(options.bytes)), has_blocks(options.collective) ? " per block" : "",
             count_of(hosts.size(), "rank"), count_of(hosts.count(), "host"), name_of(call, **taken),
             reason(options, call));
  if (!asks_for_method(call)) {
    show_dense(options, call, *taken);
  } else if (expects_bytes(*options.method.method())) {
    show_sparse(options, call, *taken);
  } else {
    show_method(options, call, *taken);
  }
  fmt::print("\n  predicted: rounds x {:.4g} us + the busiest host's bytes / {:.4g} MB/s, without overlap\n",
             options.latency * 1e6, options.rate / 1e6);
  return 0;
}

}  // namespace lacuna::cli
