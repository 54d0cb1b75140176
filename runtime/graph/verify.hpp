#pragma once

#include <span>

#include "runtime/graph/graph.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Shows, without running anything, that the graphs of all positions fit together. There is at least one position, and
/// a symmetric graph stands at each (graphs[position]).
///   1. Every send meets exactly one receive of the same interval and element type, and no receive is left over. In an
///      alltoall, the two name the blocks that the two positions have for each other. If values say how long the
///      message is, both ends name the same agreed value of the same kernel, or the same paired value, or the receive
///      takes the length from the message.
///   2. There is no cycle, even if every send ends only once its receive has started.
///   3. Two steps of one position that touch the same bytes are ordered, unless both only read. So no bytes are
///   rewritten
///      before the send that reads them has ended, and no landed memory is released before it was read.
///   4. The source of a copy or a reduction has the length and the element type of its target.
///   5. A value is defined before it is read, and the part that follows is chosen from agreed values.
/// The error names the first violation with position, step and peer.
Status verify(std::span<const Graph* const> graphs);

}  // namespace lacuna
