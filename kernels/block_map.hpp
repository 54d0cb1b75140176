#pragma once

#include <Kokkos_Macros.hpp>
#include <cstddef>

#include "kernels/bits.hpp"
#include "kernels/block_grid.hpp"

namespace lacuna::kernels {

/// The blocks of a grid, and a map with a bit for each of them.
struct BlockMap {
  const std::byte* map;
  BlockGrid grid;
  std::size_t blocks, words;

  BlockMap(const std::byte* bits, std::size_t elements, std::size_t length)
      : map(bits), grid{elements, length}, blocks(grid.count()), words(words_of_map(blocks)) {}

  /// A word of the map. Bits of no block are 0, whatever the map holds there.
  KOKKOS_INLINE_FUNCTION std::uint64_t word(std::size_t w) const {
    const std::size_t bits = blocks - w * word_bits;
    const std::uint64_t word = load_word(map, (blocks + 7) / 8, w);
    return bits < word_bits ? word & ((std::uint64_t{1} << bits) - 1) : word;
  }
  /// Writes word `w` of another map of the same blocks.
  KOKKOS_INLINE_FUNCTION void put_word(std::size_t w, std::uint64_t word, std::byte* to) const {
    const std::size_t bytes = (blocks + 7) / 8;
    for (std::size_t i = 8 * w; i < 8 * (w + 1) && i < bytes; ++i) to[i] = static_cast<std::byte>(word >> 8 * (i % 8));
  }
  /// Calls body(b) for each block of the map, in order.
  template <class Body>
  KOKKOS_INLINE_FUNCTION void for_each_block(const Body& body) const {
    for (std::size_t w = 0; w < words; ++w) for_each_one(word(w), w, body);
  }
  /// Where the elements of the blocks of word `w` begin and end.
  KOKKOS_INLINE_FUNCTION std::size_t begin_of_word(std::size_t w) const { return grid.begin(w * word_bits); }
  KOKKOS_INLINE_FUNCTION std::size_t end_of_word(std::size_t w) const {
    return w + 1 < words ? grid.begin((w + 1) * word_bits) : grid.elements;
  }
};

}  // namespace lacuna::kernels
