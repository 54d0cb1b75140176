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

}  // namespace lacuna
