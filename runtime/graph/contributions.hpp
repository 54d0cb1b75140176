#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace lacuna {

/// A cell: consecutive elements of a part's data that all steps treat alike, whatever their number. It says whose
/// values arrive there.
struct CellContributions {
  /// The cell ends behind `first` of `second` even pieces. It begins where the cell before it ends.
  std::pair<std::uint32_t, std::uint32_t> end;
  /// arrived[p][q]: does the output of position p hold values of the input of position q?
  std::vector<std::vector<bool>> arrived;
};

/// Follows the values through the graphs of all positions (graphs[position]), which must fit together and not be in
/// place. The cells ascend, and each lies in one block if the collective has blocks. The cost grows with the cube of
/// the number of positions.
std::vector<CellContributions> contributions_of(std::span<const Graph* const> graphs);

}  // namespace lacuna
