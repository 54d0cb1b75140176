#pragma once

#include <cstddef>
#include <vector>

namespace lacuna::test {

/// Rows of one value per factor (values 0 .. sizes[factor]-1), few, in which every two values of every two factors meet
/// at least once. The same rows every time.
std::vector<std::vector<std::size_t>> pairwise(const std::vector<std::size_t>& sizes);

}  // namespace lacuna::test
