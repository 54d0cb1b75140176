#include "algorithms/registry/gaps.hpp"

#include <algorithm>
#include <utility>

#include "runtime/graph/graphs.hpp"

namespace lacuna {

Gaps::Gaps(const Call& call, Rank size)
    : has_blocks_(has_blocks(call.collective)),
      gathers_(traits_of(call.collective).output == Holds::Blocks),
      block_(call.count),
      first_(traits_of(call.collective).reads == Having::Root ? call.root : 0),
      end_(traits_of(call.collective).reads == Having::Root ? call.root + 1 : size) {}

Gaps::Gaps(const PlanRequest& request, const Sampler& sampler) : Gaps(request.call, request.hosts.size()) {
  Plan plan;
  make_plan(request, plan);
  follow({request.call, request.algorithm, request.hosts, sampler}, plan);
}

Gaps::Gaps(const runtime::CollectiveRun& run, const Hosts& hosts) : Gaps(run.call, hosts.size()) {
  follow({run.call, *run.algorithm, hosts, run.sampler}, run.plan);
}

void Gaps::follow(const Binding& binding, const Plan& plan) {
  const auto& [call, algorithm, hosts, sampler] = binding;
  struct Known {
    Parameters parameters;
    Rank first;
    std::shared_ptr<const std::vector<CellContributions>> cells;
  };
  std::vector<Known> known;
  for (const PartPlan& planned : plan.parts) {
    if (planned.beside || planned.is_dense()) continue;  // it carries nothing of the result, or it lacks nothing of it
    Part part{.data = planned.data, .order = order_of(binding, planned), .cells = {}};
    // Two parts lack the same by position unless their parameters or the orders of their hosts differ. For the latter
    // the rank at position 0 stands.
    const Rank first = algorithm.by_hosts ? part.order.rank_of(0) : 0;
    const Parameters& parameters = planned.structure.parameters;
    auto found = std::find_if(known.begin(), known.end(),
                              [&](const Known& one) { return one.parameters == parameters && one.first == first; });
    if (found == known.end()) {
      const GraphShape options{.structure = {.parameters = parameters}};
      const Graphs graphs = *graphs_of(algorithm, part.order.placed(hosts), options);  // the call was accepted
      auto cells = std::make_shared<const std::vector<CellContributions>>(contributions_of(graphs.all()));
      found = known.insert(known.end(), {parameters, first, std::move(cells)});
    }
    part.cells = found->cells;
    parts_.push_back(std::move(part));
  }
}

std::vector<Gap> Gaps::of(Rank at) const {
  std::vector<Gap> all;
  const auto add = [&](std::size_t offset, std::size_t count, Rank from) {
    Gap* last = all.empty() ? nullptr : &all.back();
    if (last && last->from == from && last->offset + last->count == offset) {
      last->count += count;
    } else if (count > 0) {
      all.push_back({offset, count, from});
    }
  };
  for (Rank from = first_; from < end_; ++from) {
    for (const Part& part : parts_) {
      const auto position = [&](Rank rank) { return static_cast<std::size_t>(part.order.position_of(rank)); };
      const auto lacks = [&](const CellContributions& cell) { return !cell.arrived[position(at)][position(from)]; };
      if (has_blocks_) {
        const std::size_t before = gathers_ ? static_cast<std::size_t>(from) * block_ : 0;
        const bool missing = lacks((*part.cells)[position(gathers_ ? from : at)]);
        if (missing) add(before + part.data.offset, part.data.count, from);
        continue;
      }
      std::size_t begin = 0;
      for (const CellContributions& cell : *part.cells) {
        const std::size_t end = boundary(cell.end.first, part.data.count, cell.end.second);
        if (lacks(cell)) add(part.data.offset + begin, end - begin, from);
        begin = end;
      }
    }
  }
  return all;
}

}  // namespace lacuna
