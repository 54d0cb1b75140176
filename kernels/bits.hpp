#pragma once

#include <Kokkos_Macros.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/elements.hpp"
#include "kernels/entries.hpp"

/// Bitmaps. A word is 64 bits of a map.
namespace lacuna::kernels {

static_assert(std::endian::native == std::endian::little, "bit i of a map is bit i % 64 of its word i / 64");

inline constexpr std::size_t word_bits = 64;
inline constexpr std::size_t block_words = block_places / word_bits;
inline constexpr std::size_t block_bytes = block_places / 8;

KOKKOS_INLINE_FUNCTION std::uint32_t count_ones(std::uint64_t word) {
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return static_cast<std::uint32_t>(word * 0x0101010101010101u >> 56);
}

/// A word that has only the lowest one of this word.
KOKKOS_INLINE_FUNCTION std::uint64_t lowest_one(std::uint64_t word) { return word & (~word + 1); }

/// Calls body(place) for each one in word `w` of a map, in order.
template <class Body>
KOKKOS_INLINE_FUNCTION void for_each_one(std::uint64_t word, std::size_t w, const Body& body) {
  for (; word != 0; word &= word - 1) body(w * word_bits + count_ones(lowest_one(word) - 1));
}

/// Word `w` of a map of so many bytes. Bits beyond its end are 0.
KOKKOS_INLINE_FUNCTION std::uint64_t load_word(const std::byte* map, std::size_t bytes, std::size_t w) {
  const std::size_t first = w * sizeof(std::uint64_t);
  if (first + sizeof(std::uint64_t) <= bytes) return load<std::uint64_t>(map, w);
  std::uint64_t word = 0;
  for (std::size_t i = first; i < bytes; ++i) word |= static_cast<std::uint64_t>(map[i]) << 8 * (i - first);
  return word;
}

/// before[w] = how many ones the words of the block before word w have. All threads of the team must call it.
template <class Team, class WordAt>
KOKKOS_INLINE_FUNCTION void count_words(const Team& team, const WordAt& word_at, std::uint32_t* before) {
  team.each(block_words, [&](std::size_t w) { before[w] = count_ones(word_at(w)); });
  team.barrier();
  team.once([&] {
    std::uint32_t sum = 0;
    for (std::size_t w = 0; w < block_words; ++w) {
      const std::uint32_t ones = before[w];
      before[w] = sum;
      sum += ones;
    }
  });
  team.barrier();
}

}  // namespace lacuna::kernels
