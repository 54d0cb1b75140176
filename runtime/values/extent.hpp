#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/values/dtype.hpp"

namespace lacuna {

/// The most elements of this type that one buffer can have: no object in memory has more than PTRDIFF_MAX bytes.
constexpr std::size_t most_elements(Dtype dtype) { return PTRDIFF_MAX / size_of(dtype); }

/// Can so many bytes lie at `data`? No, if they are more than a buffer can have, or if they would go beyond the last
/// address. So a negative length that was read as a number without a sign never fits.
inline bool fits_in_memory(const void* data, std::size_t bytes) {
  return bytes <= PTRDIFF_MAX && bytes <= UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(data);
}

/// Do the two pieces of memory share a byte? This compares distances, because an end may lie beyond the last address.
inline bool share_bytes(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
  if (a_bytes == 0 || b_bytes == 0) return false;
  return first < second ? second - first < a_bytes : first - second < b_bytes;
}

}  // namespace lacuna
