#pragma once

#include <cstddef>
#include <vector>

#include "algorithms/registry/gaps.hpp"

namespace lacuna::test {

/// For each rank, and each element of the output of rank `at`: does the mask say that the rank's contribution is there?
/// In an allgather: is the element in the block of the rank, and is the block there?
inline std::vector<std::vector<bool>> contributions(const Gaps& mask, Rank at, Rank size, std::size_t elements) {
  std::vector<std::vector<bool>> there(static_cast<std::size_t>(size), std::vector<bool>(elements, true));
  for (const Gap& gap : mask.of(at)) {
    for (std::size_t i = gap.offset; i < gap.offset + gap.count; ++i)
      there[static_cast<std::size_t>(gap.from)][i] = false;
  }
  return there;
}

/// How many contributions are there.
inline Rank contributors(const std::vector<std::vector<bool>>& there, std::size_t element) {
  Rank count = 0;
  for (const auto& one : there) count += one[element];
  return count;
}

}  // namespace lacuna::test
