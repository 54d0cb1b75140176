#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>

namespace lacuna::kernels {

template <class Execution>
using RangeOf = Kokkos::RangePolicy<Execution, Kokkos::IndexType<std::size_t>>;
template <class Execution>
using TeamsOf = Kokkos::TeamPolicy<Execution>;

inline constexpr int threads_of_device_team = 256;

/// Kokkos hands a light functor to a device with the launch. For others it waits until the last one was taken.
template <class Policy>
auto light(const Policy& policy) {
  return Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight);
}

}  // namespace lacuna::kernels
