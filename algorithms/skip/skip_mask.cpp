#include "algorithms/skip/skip_mask.hpp"

#include <map>
#include <tuple>

#include "runtime/engine/parts.hpp"
#include "runtime/graph/graphs.hpp"
#include "runtime/skip/skip_plan.hpp"

namespace lacuna {

SkipMask::SkipMask(const Call& call, Rank size)
    : size_(size),
      has_blocks_(has_blocks(call.collective)),
      gathers_(traits_of(call.collective).output == Holds::Blocks),
      block_(call.count) {}

SkipMask::SkipMask(const Call& call, const Algorithm& algorithm, const Hosts& hosts, const Sampler& sampler,
                   std::size_t chunk_bytes)
    : SkipMask(call, hosts.size()) {
  const runtime::PartPlan skipped{.data = {0, call.count},
                                  .skip_steps = algorithm.skipping ? runtime::steps_of(call, algorithm, hosts) : 0,
                                  .gather_steps = runtime::gather_steps_of(call)};
  runtime::Plan plan;
  runtime::plan_segments(call, skipped, size_, chunk_bytes, plan);
  if (plan.parts.empty()) runtime::add_shares(skipped, number_of_parts(call, size_, chunk_bytes), plan);
  follow(call, algorithm, hosts, sampler, plan);
}

SkipMask::SkipMask(const runtime::Run& run, const Hosts& hosts) : SkipMask(run.call, hosts.size()) {
  runtime::Plan plan = run.plan;
  if (plan.parts.empty()) {
    runtime::add_shares({.data = {0, run.call.count}, .skip_steps = run.skip_steps, .gather_steps = run.gather_steps},
                        run.parts, plan);
  }
  follow(run.call, *run.algorithm, hosts, run.sampler, plan);
}

void SkipMask::follow(const Call& call, const Algorithm& algorithm, const Hosts& hosts, const Sampler& sampler,
                      const runtime::Plan& plan) {
  std::map<std::tuple<int, int, Rank>, std::shared_ptr<const std::vector<CellContributions>>> known;
  for (const runtime::PartPlan& planned : plan.parts) {
    if (planned.packed > 0 || planned.audits) break;  // dense, and behind all others
    Part part{.data = planned.data, .order = size_, .cells = {}};
    const bool skips = planned.skip_steps > 0 || planned.gather_steps > 0;
    if (algorithm.bind) {
      part.order = algorithm.bind({call, hosts, sampler, skips}, static_cast<std::uint32_t>(parts_.size()));
    }
    // By position all parts fare alike unless S or the hosts differ, which go by the first one's.
    const Rank first = algorithm.by_hosts ? part.order.rank_of(0) : 0;
    auto& cells = known[{planned.skip_steps, planned.gather_steps, first}];
    if (!cells) {
      const GraphShape options{.skip_steps = planned.skip_steps, .gather_steps = planned.gather_steps};
      const Graphs graphs = *graphs_of(algorithm, part.order.placed(hosts), options);  // of a call that can be made
      cells = std::make_shared<const std::vector<CellContributions>>(contributions_of(graphs.all()));
    }
    part.cells = cells;
    parts_.push_back(std::move(part));
  }
}

std::vector<SkipGap> SkipMask::gaps(Rank at) const {
  std::vector<SkipGap> all;
  const auto add = [&](std::size_t offset, std::size_t count, Rank from) {
    SkipGap* last = all.empty() ? nullptr : &all.back();
    if (last && last->from == from && last->offset + last->count == offset) {
      last->count += count;
    } else if (count > 0) {
      all.push_back({offset, count, from});
    }
  };
  for (Rank from = 0; from < size_; ++from) {
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
