#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace lacuna::test {

/// One value for each factor (0 .. sizes[factor]-1).
using FactorValues = std::vector<std::size_t>;

/// A few rows of values. Every two values of every two factors meet in at least one row, and each value is in one. The
/// rows are the same every time.
std::vector<FactorValues> pairwise(const std::vector<std::size_t>& sizes);

/// The same if not all rows are accepted. That of zeros is. Two values meet if a row with both is found that is
/// accepted: one whose other factors are 0, but for one or two that each of these values needs.
std::vector<FactorValues> pairwise(const std::vector<std::size_t>& sizes,
                                   const std::function<bool(const FactorValues&)>& accepts);

}  // namespace lacuna::test
