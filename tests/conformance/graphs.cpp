#include "runtime/graph/graphs.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/registry/check_method.hpp"
#include "runtime/graph/graph_cost.hpp"
#include "tests/conformance/example.hpp"
#include "tests/conformance/fault.hpp"
#include "tests/conformance/properties.hpp"

namespace lacuna::conformance {
namespace {

/// Compares the rounds that the method states for a part, and for those that follow it, with the graphs of all
/// positions.
void compare_rounds(const PlanRequest& request, const PartPlan& part, std::uint32_t length, const std::string& text) {
  const Method& method = *request.call.options.method.method();
  const MethodAlgorithm& serving = *method.find(request.algorithm);
  const Rank size = request.hosts.size();
  Graphs graphs = *graphs_of(request.algorithm, size, {.structure = part.structure});
  const std::size_t decides = graphs.at(0).tables().decides.size();
  const int stated = serving.rounds(part, size), there = runtime::rounds_of(graphs.all());
  demand(stated == there, "{}: states {} rounds, its graphs have {}", text, stated, there);
  const runtime::PartCost cost = runtime::GraphCost(std::move(graphs)).of(0, request.call.count);
  demand(cost.reduced == 0, "{}: a report would miss whose values arrive", text);
  demand(cost.lacking == 0, "{}: a report would miss what does not arrive", text);
  if (!method.follow) return;
  for (std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 30}) {
    const std::vector<std::uint64_t> values{value, std::min(value, std::uint64_t{1} << 20)};
    if (decides != values.size()) return;
    const auto next = method.follow({.request = request, .part = part, .length = length, .values = values});
    if (next) compare_rounds(request, *next, length + 1, fmt::format("{}, what follows for {}", text, value));
  }
}

/// Compares the rounds of each new part of three runs of an example.
void compare_rounds(const Example& example, std::set<std::tuple<const Algorithm*, Rank, std::string>>& seen) {
  MethodState state;
  for (state.runs = 0; state.runs < 3; ++state.runs) {
    const Call call = example.call(state);
    const Hosts& hosts = example.hosts;
    const PlanRequest request{call, *example.algorithm, hosts, 256};
    Plan plan;
    make_plan(request, plan);
    for (const PartPlan& part : plan.parts) {
      if (part.program) continue;  // reports count in its graphs
      if (!seen.emplace(example.algorithm, example.size(), part.structure.parameters.text()).second) continue;
      compare_rounds(request, part, 1, example.text);
    }
  }
}

}  // namespace

void has_graphs_that_fit(const Method& method) {
  const Status fits = check_method(method, 16);
  demand(fits.is_ok(), "{}", fits.to_string());
}

void states_rounds(const Method& method) {
  std::vector<Rank> sizes(17);
  std::iota(sizes.begin(), sizes.end(), 1);
  std::set<std::tuple<const Algorithm*, Rank, std::string>> seen;
  for (const Example& example : examples_of(method, sizes, {100, 100'000})) {  // the longer data have ranges to balance
    if (method.find(*example.algorithm)->rounds) compare_rounds(example, seen);
  }
}

void states_rounds_beside_bytes(const Method& method) {
  for (const MethodAlgorithm& one : method.algorithms) {
    demand(one.rounds || !one.predictions, "{}: each report would build all positions' graphs", one.name);
  }
}

}  // namespace lacuna::conformance
