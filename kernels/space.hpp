#pragma once

/// Space is where this build of kernels/ runs its functors. In the core it is HostSpace. The same sources make further
/// libraries, such as that of the Kokkos backend, which name a space of their own and its header.
#ifndef LACUNA_SPACE
#define LACUNA_SPACE HostSpace
#define LACUNA_SPACE_HEADER "kernels/host_space.hpp"
#endif
#include LACUNA_SPACE_HEADER

namespace lacuna::kernels {
using Space = LACUNA_SPACE;
}
