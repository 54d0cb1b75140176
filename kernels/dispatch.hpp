#pragma once

#include <cstddef>

namespace lacuna::kernels {

/// Calls kernel(i) for i in [0, count) on the calling thread, as a loop that vectorises. The calls must not depend on
/// one another: what call i writes, no other call reads or writes. So the same kernel also runs under
/// Kokkos::parallel_for with a RangePolicy.
template <class Kernel>
inline void dispatch(std::size_t count, const Kernel& kernel) {
  const Kernel local = kernel;
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < count; ++i) local(i);
}

}  // namespace lacuna::kernels
