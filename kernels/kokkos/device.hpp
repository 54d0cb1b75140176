#pragma once

#include "kernels/backend.hpp"

namespace lacuna::kernels {

/// The backend that computes on the memory of Kokkos' device, in a library that has one.
const Backend& device_backend();

}  // namespace lacuna::kernels
