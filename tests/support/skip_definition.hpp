#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/collective_case.hpp"

namespace lacuna::test {

// What the algorithms that skip are to leave out, from their documents: nothing here looks at a graph.

/// The rank at each position in one part.
std::vector<Rank> skip_order(const Case& what, std::uint32_t part);

/// Into how many cells of equal length a part falls, each of which lacks the values of other ranks.
Rank skip_cells(const Case& what, const std::vector<Rank>& order);

/// The ranks whose values a cell lacks; of an allgather, those that lack the cell. Of reduce_scatter and allgather,
/// cell i is the block of the rank at position i.
std::vector<Rank> left_out(const Case& what, const std::vector<Rank>& order, Rank cell);

/// Levels below each position in tree `half` of the two.
std::vector<int> tree_heights(Rank size, Rank half);

/// How many of S steps a torus of so many columns leaves out along its rows.
int skips_in_rows(int skip, Rank columns);

/// Rows of the torus that is nearest to a square.
Rank torus_rows(Rank size);

}  // namespace lacuna::test
