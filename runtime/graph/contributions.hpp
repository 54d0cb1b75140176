#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace lacuna {

/// A range of a part's data whose elements fare alike, whatever their number, and whose values arrive there.
struct CellContributions {
  /// Where it ends: at so many pieces of so many. It begins where the one before ends.
  std::pair<std::uint32_t, std::uint32_t> end;
  /// By the position whose output it is, then by the position whose input it was.
  std::vector<std::vector<bool>> arrived;
};

/// Follows the values through the graphs of all positions (graphs[position]) that fit together and are not in place;
/// ascending, of a collective with blocks by block. The cost grows with the cube of the number of positions.
std::vector<CellContributions> contributions_of(std::span<const Graph* const> graphs);

}  // namespace lacuna
