#pragma once

#include <Kokkos_Macros.hpp>
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/backend.hpp"
#include "kernels/bits.hpp"
#include "kernels/elements.hpp"
#include "kernels/places.hpp"
#include "kernels/reduce.hpp"
#include "kernels/space.hpp"

/// What sum() and merge() share: they go through the entries of several views, block by block.
namespace lacuna::kernels {

/// Views and their indexes. Functors carry this table, because a device can't read the caller's arrays.
template <std::size_t most>
struct ViewTable {
  EntriesView views[most];
  const std::uint32_t* before[most];
  std::size_t count;

  ViewTable(std::span<const EntriesView> from, const std::uint32_t* const* indexes) : count(from.size()) {
    std::copy_n(from.data(), count, views);
    std::copy_n(indexes, count, before);
  }

  /// The number of entries that all views together have in a block.
  KOKKOS_INLINE_FUNCTION std::size_t entries_of(std::size_t block) const {
    std::size_t sum = 0;
    for (std::size_t v = 0; v < count; ++v) sum += before[v][block + 1] - before[v][block];
    return sum;
  }
};

/// Calls visit(table) with the smaller table that is large enough. CUDA can hand a table of 64 views to a kernel at
/// once.
template <class Visit>
void with_views(std::span<const EntriesView> views, const std::uint32_t* const* before, const Visit& visit) {
  if (views.size() <= 64) return visit(ViewTable<64>(views, before));
  visit(ViewTable<Backend::most_views>(views, before));
}

/// A block of places, and the entries of a view that lie there: from `first` to before `last`.
struct BlockOfView {
  std::size_t block;
  std::size_t length;  ///< number of places of the block
  std::size_t first;
  std::size_t last;
};

/// Calls add(place in the block, value) for the entries of a view in the format Bitmap. `counts` has room for
/// block_words.
template <class T, class Add>
KOKKOS_INLINE_FUNCTION void add_bitmap(const Space::Team& team, const EntriesView& view, const BlockOfView& of,
                                       std::uint32_t* counts, const Add& add) {
  const std::byte* map = view.places + of.block * block_bytes;
  const std::size_t bytes = (of.length + 7) / 8;
  const auto word_at = [&](std::size_t w) { return load_word(map, bytes, w); };
  count_words(team, word_at, counts);
  team.each(block_words, [&](std::size_t w) {
    std::size_t at = of.first + counts[w];
    for_each_one(word_at(w), w, [&](std::size_t place) { add(place, widen(load<T>(view.values, at++))); });
  });
}

/// Calls add(place in the block, value) for each entry that a view has in the block, on the threads of the team. No
/// place comes twice.
template <class T, class Add>
KOKKOS_INLINE_FUNCTION void add_view(const Space::Team& team, const EntriesView& view, const BlockOfView& of,
                                     std::uint32_t* counts, const Add& add) {
  const std::size_t start = of.block * block_places;
  const auto value_at = [&](std::size_t i) { return widen(load<T>(view.values, i)); };
  switch (view.format) {
    case Format::Coordinates: {
      const PlaceList places{view.places, view.entries, view.base};
      return team.each(of.last - of.first,
                       [&](std::size_t i) { add(places[of.first + i] - start, value_at(of.first + i)); });
    }
    case Format::Local16: {
      const std::byte* halves = view.values - view.entries * sizeof(std::uint16_t);
      return team.each(of.last - of.first, [&](std::size_t i) {
        add(load<std::uint16_t>(halves, of.first + i) % block_places, value_at(of.first + i));
      });
    }
    case Format::Bitmap:
      return add_bitmap<T>(team, view, of, counts, add);
    case Format::Dense:
      return team.each(of.length, [&](std::size_t i) { add(i, value_at(start + i)); });
  }
}

/// Calls add_view for all views, in their order.
template <class T, class Views, class Add>
KOKKOS_INLINE_FUNCTION void add_views(const Space::Team& team, const Views& table, BlockOfView of,
                                      std::uint32_t* counts, const Add& add) {
  for (std::size_t v = 0; v < table.count; ++v) {
    of.first = table.before[v][of.block];
    of.last = table.before[v][of.block + 1];
    if (of.first == of.last) continue;
    add_view<T>(team, table.views[v], of, counts, add);
    team.barrier();
  }
}

template <class T>
KOKKOS_INLINE_FUNCTION bool is_zero(T value) {
  using Bits = typename FloatBits<T>::Bits;
  return static_cast<Bits>(std::bit_cast<Bits>(value) << 1) == 0;
}

/// Scales a sum in the accumulation type and rounds it to an element.
template <class T>
struct Rounding {
  WideOf<T> multiplier;
  WideOf<T> divisor;
  bool scales;

  explicit Rounding(Scale scale)
      : multiplier(static_cast<WideOf<T>>(scale.multiplier)),
        divisor(static_cast<WideOf<T>>(scale.divisor)),
        scales(!scale.is_one()) {}

  KOKKOS_INLINE_FUNCTION T operator()(WideOf<T> sum) const {
    return narrow<T>(scales ? sum * multiplier / divisor : sum);
  }
};

}  // namespace lacuna::kernels
