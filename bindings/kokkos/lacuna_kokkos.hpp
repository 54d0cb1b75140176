#pragma once

#include <Kokkos_Core.hpp>
#include <complex>
#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "bindings/cpp/lacuna.hpp"

/// Views of Kokkos as buffers of calls and messages, in the memory of the host or of a CUDA device:
///
///     Status done = world.call(allreduce(gradient, Reduction::Avg));
///
/// The elements of a view must be contiguous. They are sent in the order in which they lie in memory, so the views of
/// all ranks have one layout. A view need not outlive the call that makes the buffer, but its elements must. On a
/// device a call begins after the work that the program has given to the default instance of the view's execution
/// space. span_of() names another instance. This header only needs Kokkos 3.4 or later, from the program.
namespace lacuna {

/// Kokkos' complex numbers have the bits of those of C++.
template <class T>
requires(std::is_same_v<T, float> || std::is_same_v<T, double>) struct DtypeOf<Kokkos::complex<T>>
    : DtypeOf<std::complex<T>> {
};

namespace views {

/// The kind of memory in which views of a space lie.
template <class Space>
inline constexpr MemoryKind kind_of = MemoryKind::Host;
#ifdef KOKKOS_ENABLE_CUDA
template <>
inline constexpr MemoryKind kind_of<Kokkos::CudaSpace> = MemoryKind::Cuda;
template <>
inline constexpr MemoryKind kind_of<Kokkos::CudaUVMSpace> = MemoryKind::CudaManaged;
template <>
inline constexpr MemoryKind kind_of<Kokkos::CudaHostPinnedSpace> = MemoryKind::CudaHost;
#endif

/// The memory of a view whose elements are ready after the work of an instance.
template <class Space, class Instance>
Memory memory_of(const Instance& instance) {
  static_assert(kind_of<Space> == MemoryKind::Cuda || Kokkos::SpaceAccessibility<Kokkos::HostSpace, Space>::accessible,
                "lacuna: views lie in the memory of the host or of a CUDA device");
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Instance, Kokkos::Cuda>) {
    return {.kind = kind_of<Space>, .device = instance.cuda_device(), .stream = instance.cuda_stream()};
  }
#endif
  instance.fence();
  return {.kind = kind_of<Space>};
}

}  // namespace views

/// Returns a view's elements, which are ready after the work of this instance. On the host it waits for that work.
/// Throws std::invalid_argument if the elements are not contiguous.
template <class T, class... Properties, class Instance>
auto span_of(const Kokkos::View<T, Properties...>& view, const Instance& instance) {
  using View = Kokkos::View<T, Properties...>;
  if (!view.span_is_contiguous()) {
    throw std::invalid_argument("the elements of the view " + view.label() +
                                " are not contiguous; a call needs contiguous ones, so copy them before");
  }
  return MemorySpan<typename View::value_type>{view.data(), view.size(),
                                               views::memory_of<typename View::memory_space>(instance)};
}

/// The same, for the default instance of the view's execution space.
template <class T, class... Properties>
auto span_of(const Kokkos::View<T, Properties...>& view) {
  return span_of(view, typename Kokkos::View<T, Properties...>::execution_space());
}

template <class T, class... Properties>
struct BufferTraits<Kokkos::View<T, Properties...>> {
  static auto of(const Kokkos::View<T, Properties...>& view) { return span_of(view); }
};

/// Orders an instance behind a request: work that the program gives to it after this call begins once the request has
/// finished. On a device, and with LACUNA_PROGRESS=thread, the host does not wait for that, and a later wait() tells of
/// an error. Else this function waits, and returns the outcome of the request.
template <class Instance>
Status finish_before([[maybe_unused]] const Instance& instance, Request& request) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Instance, Kokkos::Cuda>) {
    const Status held = request.hold_stream(instance.cuda_stream());
    if (held.code() != Code::Unsupported) return held;
  }
#endif
  return request.wait();
}

}  // namespace lacuna
