#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/collective_case.hpp"

namespace lacuna::test {

// What the algorithms that skip must leave out, by their documents. Nothing here looks at a graph.

/// The rank at each position in one part.
std::vector<Rank> skip_order(const Case& what, std::uint32_t part);

/// The number of cells of equal length in a part. Each cell lacks the values of other ranks.
Rank skip_cells(const Case& what, const std::vector<Rank>& order);

/// The ranks whose values a cell lacks or, in an allgather, the ranks that lack the cell. In reduce_scatter and
/// allgather, cell i is the block of the rank at position i.
std::vector<Rank> left_out(const Case& what, const std::vector<Rank>& order, Rank cell);

/// The number of levels below each position in tree `half` of the two.
std::vector<int> tree_heights(Rank size, Rank half);

/// How many of S rounds a torus of so many columns leaves out along its rows.
int skips_in_rows(int skip, Rank columns);

/// The number of rows of the torus that is nearest to a square.
Rank torus_rows(Rank size);

}  // namespace lacuna::test
