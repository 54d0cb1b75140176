#pragma once

#include <cstddef>
#include <vector>

#include "algorithms/registry/gaps.hpp"

namespace lacuna::test {

/// By rank, then by element of the output of rank `at`: is the rank's contribution there, as the mask tells it? Of an
/// allgather, is the block there if it is that rank's.
inline std::vector<std::vector<bool>> contributions(const Gaps& mask, Rank at, Rank size, std::size_t elements) {
  std::vector<std::vector<bool>> there(static_cast<std::size_t>(size), std::vector<bool>(elements, true));
  for (const Gap& gap : mask.of(at)) {
    for (std::size_t i = gap.offset; i < gap.offset + gap.count; ++i)
      there[static_cast<std::size_t>(gap.from)][i] = false;
  }
  return there;
}

/// How many of them are there.
inline Rank contributors(const std::vector<std::vector<bool>>& there, std::size_t element) {
  Rank count = 0;
  for (const auto& one : there) count += one[element];
  return count;
}

}  // namespace lacuna::test
