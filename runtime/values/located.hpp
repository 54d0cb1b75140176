#pragma once

#include <cstdint>

namespace lacuna {

/// A number and where it was found. Reduction::Min and Reduction::Max of such elements give the least or the largest
/// number together with its index. The index is any number that the program likes, such as a rank or a place. Of equal
/// numbers the one with the lowest index wins, so that the result does not depend on the order of the reduction. As for
/// plain numbers, -0 is less than +0, and a NaN wins over all numbers; of several NaNs the one with the lowest index
/// wins. T is float, double, std::int32_t or std::int64_t. An element has 16 bytes; between a number of 4 bytes and the
/// index lie 4 more, which mean nothing.
template <class T>
struct Located {
  T value;
  std::int64_t index;

  friend constexpr bool operator==(const Located&, const Located&) = default;
};

static_assert(sizeof(Located<float>) == 16 && sizeof(Located<double>) == 16);

}  // namespace lacuna
