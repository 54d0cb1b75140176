#pragma once

#include <vector>

#include "runtime/engine/run.hpp"
#include "runtime/graph/algorithm.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Ok, or why this algorithm can't skip what the call asks for. Of values that are equal on all ranks.
Status check_skip(const Call& call, const Algorithm& algorithm, const Hosts& hosts);

/// S of the next run: of the call, its ratio or its schedule. The algorithm has `skipping`.
int steps_of(const Call& call, const Algorithm& algorithm, const Hosts& hosts);

/// Every S that runs of this call may have, some more than once.
std::vector<int> possible_steps(const Call& call, const Algorithm& algorithm, const Hosts& hosts);

int gather_steps_of(const Call& call);

/// The parts of a call with segments: neighbours that are treated alike whatever S is make one stretch, each stretch
/// parts of its own, and the stretches that are always dense and shorter than Skip::small one part together. So the
/// parts do not depend on S. `skipped` is what holds of those that are not dense.
void plan_segments(const Call& call, const PartPlan& skipped, Rank size, std::size_t chunk_bytes, Plan& plan);

/// Adds a stretch as so many parts of equal shares.
void add_shares(const PartPlan& stretch, std::size_t parts, Plan& plan);

/// Calls visit(segment) for those whose importance decides.
template <class Visit>
void each_automatic(const Call& call, Visit visit) {
  for (const SkipSegment& segment : call.options.skip.segments) {
    const bool is_small = segment.count * size_of(call.dtype) < call.options.skip.small;
    if (segment.policy == SkipPolicy::Automatic && !is_small) visit(segment);
  }
}

/// Nothing stays of what a run has skipped, so that it serves any call.
void forget_skips(Run& run);

/// Sets what the next execution of a run skips, and its parts.
void plan_skips(Run& run, const Hosts& hosts, std::size_t chunk_bytes);

}  // namespace lacuna::runtime
