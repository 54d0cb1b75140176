#include "kernels/kokkos/entry.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {

const Backend& device_backend() {
  static const SpaceBackend device;
  return device;
}

}  // namespace lacuna::kernels
