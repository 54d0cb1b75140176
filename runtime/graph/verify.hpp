#pragma once

#include <span>

#include "runtime/graph/graph.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Shows, without running anything, that the graphs of all positions (graphs[position], at least one; a symmetric graph
/// stands at each) fit together:
///   1. every send meets exactly one receive of the same interval, and no receive is left over; in an alltoall, of the
///      blocks that the two positions have for each other;
///   2. no cycle, also when every send ends only once its receive has started;
///   3. two steps of one position that touch the same bytes, one of them writing, are ordered; so bytes under a send
///   are
///      not rewritten before that send has ended.
/// The first violation is returned with position, step and peer.
Status verify(std::span<const Graph* const> graphs);

}  // namespace lacuna
