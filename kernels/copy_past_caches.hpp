#pragma once

#include <cstddef>

namespace lacuna::kernels {

/// Copies bytes of the host, as memcpy does, so that what is written goes to memory and not into the caches of the
/// processor. That is faster for data that are larger than the caches, because the processor need not read what it
/// overwrites, and nothing else is driven out of the caches. `to` and `from` do not overlap.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes);

/// The size of the largest cache of this processor in bytes, or SIZE_MAX if it is not known.
std::size_t largest_cache();

}  // namespace lacuna::kernels
