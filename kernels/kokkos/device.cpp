#include "kernels/kokkos/device.hpp"

#include "kernels/space_backend.hpp"

namespace lacuna::kernels {

std::string_view SpaceBackend::name() const { return Space::name(); }

const Backend& device_backend() {
  static const SpaceBackend device;
  return device;
}

}  // namespace lacuna::kernels
