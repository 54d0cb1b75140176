#pragma once

/// Space is where this build of kernels/ runs its functors. In the core it is HostSpace. The library of the Kokkos
/// backend is made of the same sources.
#ifdef LACUNA_KERNELS_BY_KOKKOS
#include "kernels/kokkos/kokkos_space.hpp"
namespace lacuna::kernels {
using Space = KokkosSpace;
}
#else
#include "kernels/host_space.hpp"
namespace lacuna::kernels {
using Space = HostSpace;
}
#endif
