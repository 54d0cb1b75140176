#include "kernels/elements.hpp"
#include "kernels/places.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

/// Backend::histogram for bin i. The places are in order, so two searches tell how many lie in the bin.
struct BinKernel {
  PlaceList places;
  std::size_t length;
  std::int64_t* bins;
  std::int64_t* skews;
  std::size_t number;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const std::size_t first = places.below(border(i)), last = places.below(border(i + 1));
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
};

struct FindRange {
  PlaceList places;
  std::size_t begin;
  std::size_t end;
  Between* found;

  KOKKOS_FUNCTION void operator()(std::size_t) const {
    const std::size_t first = places.below(begin);
    *found = {first, places.below(end, first, places.count)};
  }
};

/// Backend::sample_places, by one team.
struct SamplePlaces {
  PlaceList places;
  EvenSample of;
  std::uint32_t* words;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t first = places.below(of.begin);
    const std::size_t count = places.below(of.end, first, places.count) - first;
    team.once([&] { words[0] = static_cast<std::uint32_t>(count); });
    team.each(of.samples, [&](std::size_t i) {
      const std::size_t entry = (of.shares * i + of.share) * count / (of.shares * of.samples);
      words[1 + i] = count == 0 ? static_cast<std::uint32_t>(of.begin) : places[first + entry];
    });
  }
};

struct FindCommon {
  PlaceList places;
  PlaceList others;
  std::uint32_t* found;

  KOKKOS_FUNCTION void operator()(std::size_t i, std::uint64_t& sum, bool final) const {
    const std::uint32_t place = places[i];
    const std::size_t at = others.below(place);
    if (at == others.count || others[at] != place) return;
    if (final) found[sum] = place;
    ++sum;
  }
};

struct FindBeyond {
  const std::uint32_t* places;
  std::size_t length;
  Beyond* found;

  KOKKOS_FUNCTION void operator()(std::size_t i, std::uint64_t& sum, bool final) const {
    if (places[i] < length) return;
    if (final && sum == 0) {
      found->entry = i;
      found->place = places[i];
    }
    ++sum;
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

PlaceList list_of(std::span<const std::uint32_t> places) {
  return {reinterpret_cast<const std::byte*>(places.data()), places.size(), 0};
}

}  // namespace

void SpaceBackend::histogram(std::span<const std::uint32_t> places, std::size_t length, std::span<std::int64_t> bins,
                             std::span<std::int64_t> skews) const {
  Space::for_each(bins.size(), BinKernel{list_of(places), length, bins.data(), skews.data(), bins.size()});
}

void SpaceBackend::find_range(std::span<const std::uint32_t> places, std::uint64_t begin, std::uint64_t end,
                              Between* found) const {
  Space::for_each(1, FindRange{list_of(places), begin, end, found});
}

void SpaceBackend::sample_places(std::span<const std::uint32_t> places, const EvenSample& of,
                                 std::uint32_t* words) const {
  Space::for_teams(1, 0, SamplePlaces{list_of(places), of, words});
}

void SpaceBackend::find_common(std::span<const std::uint32_t> places, std::span<const std::uint32_t> others,
                               std::uint32_t* found, std::uint64_t* count) const {
  Space::scan(places.size(), FindCommon{list_of(places), list_of(others), found}, count);
}

void SpaceBackend::find_beyond(std::span<const std::uint32_t> places, std::size_t length, Beyond* found) const {
  Space::scan(places.size(), FindBeyond{places.data(), length, found}, &found->count);
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
