#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "examples/workloads/fashion_mnist/random.hpp"

namespace lacuna::workloads {

/// Returns numbers from -4 to 4, whose products have exact sums.
inline std::vector<float> small_integers(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  SplitMix random(seed, 0);
  for (float& value : values) value = static_cast<float>(random.below(9)) - 4;
  return values;
}

}  // namespace lacuna::workloads
