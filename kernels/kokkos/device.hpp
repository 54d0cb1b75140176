#pragma once

#include "kernels/backend.hpp"

namespace lacuna::kernels {

/// What computes on the memory of Kokkos' device, in a library that has one.
const Backend& device_backend();

}  // namespace lacuna::kernels
