#include "kernels/elements.hpp"
#include "kernels/space.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

/// Backend::histogram for bin i. The places are in order, so two searches tell how many lie in the bin.
struct BinKernel {
  const std::uint32_t* places;
  std::size_t count;
  std::size_t length;
  std::int64_t* bins;
  std::int64_t* skews;
  std::size_t number;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const std::size_t first = before(border(i)), last = before(border(i + 1));
    bins[i] += static_cast<std::int64_t>(last - first);
    skews[i] += skew(border(i), border(i + 1), first, last);
  }

  KOKKOS_INLINE_FUNCTION std::size_t border(std::size_t i) const { return (i * length + number - 1) / number; }

  /// The skew of a bin with the places from `begin` to `end`, which has the entries from `first` to `last`. The
  /// difference is largest just before an entry or just behind one.
  KOKKOS_INLINE_FUNCTION std::int64_t skew(std::size_t begin, std::size_t end, std::size_t first,
                                           std::size_t last) const {
    const auto width = static_cast<std::int64_t>(end - begin), all = static_cast<std::int64_t>(last - first);
    std::int64_t most = 0;  // the largest difference, times the width
    for (std::int64_t i = 0; i < all; ++i) {
      const auto at = static_cast<std::int64_t>(places[first + static_cast<std::size_t>(i)] - begin);
      const std::int64_t less = all * at - i * width, more = (i + 1) * width - all * (at + 1);
      most = less > most ? less : most;
      most = more > most ? more : most;
    }
    return most == 0 ? 0 : (most + width - 1) / width;
  }

  /// How many places of the list are below this one.
  KOKKOS_INLINE_FUNCTION std::size_t before(std::size_t begin) const {
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

void SpaceBackend::histogram(std::span<const std::uint32_t> places, std::size_t length, std::span<std::int64_t> bins,
                             std::span<std::int64_t> skews) const {
  Space::for_each(bins.size(), BinKernel{places.data(), places.size(), length, bins.data(), skews.data(), bins.size()});
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
