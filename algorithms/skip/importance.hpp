#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/values/method_state.hpp"

namespace lacuna {

/// Decides which segments are too important to be skipped, from what they hold. SkipReduce's authors measured this once
/// and by hand (MICRO 2025, sections 4.4 and 5.2). Every Skip::importance_every runs of a state, its segments that are
/// SkipPolicy::Automatic are dense, and a sample of their result is measured. The bits of the result are equal on all
/// ranks, so they agree without a message. A segment is important if more than Skip::importance_threshold of its
/// elements are among the largest quarter, by magnitude, of all elements measured: those of its state and of all states
/// of its model (MethodState::model). The state's array "importance" holds what was measured and decided.

/// What is known of an automatic segment.
struct SegmentImportance {
  std::size_t segment = 0;  ///< its place in Skip::segments
  std::uint64_t count = 0;  ///< elements
  double share = 0;         ///< which share of its elements was among the largest quarter when it was last measured
  bool important = false;   ///< it is too important to be skipped, and therefore dense
  bool measured = false;    ///< `share` and `important` are known
};

/// Returns the segments that are measured, in their order; none before the first run. It must not run while a call
/// changes the state.
std::vector<SegmentImportance> importance_of(const MethodState& state);

}  // namespace lacuna
