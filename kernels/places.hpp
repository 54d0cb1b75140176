#pragma once

#include <Kokkos_Macros.hpp>
#include <cstddef>
#include <cstdint>

#include "kernels/bits.hpp"
#include "kernels/elements.hpp"
#include "kernels/entries.hpp"
#include "kernels/space.hpp"

namespace lacuna::kernels {

/// The first i in [first, last) for which below(i) is false, or `last`. below() must be true up to some i, and false
/// from there on. If it is not so, the result is still in [first, last], and below() is asked about nothing outside.
template <class Below>
KOKKOS_INLINE_FUNCTION std::size_t first_not(std::size_t first, std::size_t last, const Below& below) {
  std::size_t count = last - first;
  while (count != 0) {
    const std::size_t half = count / 2;
    const bool is_below = below(first + half);
    first = is_below ? first + half + 1 : first;
    count = is_below ? count - half - 1 : half;
  }
  return first;
}

KOKKOS_INLINE_FUNCTION std::size_t lesser(std::size_t a, std::size_t b) { return a < b ? a : b; }

/// A list of places, counted from `base`, at any address.
struct PlaceList {
  const std::byte* data;
  std::size_t count;
  std::uint32_t base;

  KOKKOS_INLINE_FUNCTION std::uint32_t operator[](std::size_t i) const { return load<std::uint32_t>(data, i) - base; }
  /// How many places of the list are below `place`.
  KOKKOS_INLINE_FUNCTION std::size_t below(std::size_t place) const { return below(place, 0, count); }
  /// How many places of the list are below `place`, if it is known that this number is in [first, last].
  KOKKOS_INLINE_FUNCTION std::size_t below(std::size_t place, std::size_t first, std::size_t last) const {
    return first_not(first, last, [&](std::size_t i) { return (*this)[i] < place; });
  }
};

/// Writes the bits of a block of the map, for the places of a list.
struct PackBits {
  PlaceList places;
  std::size_t length;
  std::byte* map;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    auto* words = team.scratch<std::uint64_t>();
    team.each(block_words, [&](std::size_t w) { words[w] = 0; });
    team.barrier();
    const std::size_t start = team.number() * block_places;
    const std::size_t first = places.below(start);
    const std::size_t last = places.below(start + block_places, first, lesser(first + block_places, places.count));
    team.each(last - first, [&](std::size_t i) {
      const std::size_t place = places[first + i] - start;
      Space::Team::add(&words[place / word_bits], std::uint64_t{1} << place % word_bits);
    });
    team.barrier();
    const auto* bytes = reinterpret_cast<const std::byte*>(words);
    const std::size_t at = team.number() * block_bytes;
    team.each(lesser(block_bytes, (length + 7) / 8 - at), [&](std::size_t i) { map[at + i] = bytes[i]; });
  }

  void run() const { Space::for_teams(blocks_of(length), block_bytes, *this); }
};

}  // namespace lacuna::kernels
