#pragma once

#include <cstddef>
#include <vector>

namespace lacuna::test {

/// A few rows, with one value for each factor (0 .. sizes[factor]-1). Every two values of every two factors meet in at
/// least one row. The rows are the same every time.
std::vector<std::vector<std::size_t>> pairwise(const std::vector<std::size_t>& sizes);

}  // namespace lacuna::test
