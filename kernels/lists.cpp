#include "kernels/elements.hpp"
#include "kernels/space.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

/// Bin i of Backend::histogram. The places are in order: two searches tell how many lie in it.
struct BinKernel {
  const std::uint32_t* places;
  std::size_t count;
  std::size_t length;
  std::int64_t* bins;
  std::size_t number;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    bins[i] += static_cast<std::int64_t>(before(i + 1) - before(i));
  }

  /// How many places lie before bin i.
  KOKKOS_INLINE_FUNCTION std::size_t before(std::size_t i) const {
    const std::size_t begin = (i * length + number - 1) / number;
    std::size_t low = 0, high = count;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      const bool is_before = places[middle] < begin;
      low = is_before ? middle + 1 : low;
      high = is_before ? high : middle;
    }
    return low;
  }
};

template <class T>
struct ClearAtKernel {
  const std::uint32_t* places;
  std::byte* to;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const { store<T>(to, places[i], T{}); }
};

template <class T>
struct AddAtKernel {
  const std::uint32_t* places;
  const std::byte* values;
  std::byte* to;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const std::size_t at = places[i];
    store<T>(to, at, narrow<T>(widen(load<T>(to, at)) + widen(load<T>(values, i))));
  }
};

template <class T>
struct GatherKernel {
  const std::uint32_t* places;
  const std::byte* from;
  std::byte* to;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const { store<T>(to, i, load<T>(from, places[i])); }
};

}  // namespace

void SpaceBackend::histogram(std::span<const std::uint32_t> places, std::size_t length,
                             std::span<std::int64_t> bins) const {
  Space::for_each(bins.size(), BinKernel{places.data(), places.size(), length, bins.data(), bins.size()});
}

void SpaceBackend::clear_at(std::span<const std::uint32_t> places, Target to) const {
  with_floating_element(to.dtype, [&]<class T>(Element<T>) {
    Space::for_each(places.size(), ClearAtKernel<T>{places.data(), to.data});
  });
}

void SpaceBackend::add_at(std::span<const std::uint32_t> places, const std::byte* values, Target to) const {
  with_floating_element(to.dtype, [&]<class T>(Element<T>) {
    Space::for_each(places.size(), AddAtKernel<T>{places.data(), values, to.data});
  });
}

void SpaceBackend::gather(std::span<const std::uint32_t> places, Source from, std::byte* to) const {
  with_floating_element(from.dtype, [&]<class T>(Element<T>) {
    Space::for_each(places.size(), GatherKernel<T>{places.data(), from.data, to});
  });
}

}  // namespace lacuna::kernels
