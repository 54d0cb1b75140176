#pragma once

#include <span>

#include "runtime/graph/graph.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Shows, without running anything, that the graphs of all positions (graphs[position], at least one; a symmetric graph
/// stands at each) fit together:
///   1. every send meets exactly one receive of the same interval and element type, and no receive is left over; in an
///      alltoall, of the blocks that the two positions have for each other. A length that a value says is the same
///      agreed value at both ends, defined by the same kernel, or its message tells it to a receive that asks;
///   2. no cycle, also when every send ends only once its receive has started;
///   3. two steps of one position that touch the same bytes, one of them writing, are ordered; so bytes under a send
///      are not rewritten before that send has ended, nor is what has landed released before it was read;
///   4. what a step copies or reduces is as long as where it goes, and of the same elements;
///   5. a value is defined before it is read, and what follows a part is chosen from agreed values.
/// The first violation is returned with position, step and peer.
Status verify(std::span<const Graph* const> graphs);

}  // namespace lacuna
