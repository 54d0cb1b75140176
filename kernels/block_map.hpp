#pragma once

#include <Kokkos_Macros.hpp>
#include <cstddef>

#include "kernels/bits.hpp"

namespace lacuna::kernels {

/// An array of `count` elements as blocks, and a map with a bit for each block.
struct BlockMap {
  const std::byte* map;
  std::size_t block, count;

  KOKKOS_INLINE_FUNCTION std::size_t blocks() const { return (count + block - 1) / block; }
  KOKKOS_INLINE_FUNCTION std::size_t words() const { return (blocks() + word_bits - 1) / word_bits; }
  /// A word of the map. Bits of no block are 0, whatever the map holds there.
  KOKKOS_INLINE_FUNCTION std::uint64_t word(std::size_t w) const {
    const std::size_t bits = blocks() - w * word_bits;
    const std::uint64_t word = load_word(map, (blocks() + 7) / 8, w);
    return bits < word_bits ? word & ((std::uint64_t{1} << bits) - 1) : word;
  }
  /// Where the elements of block `b` end.
  KOKKOS_INLINE_FUNCTION std::size_t end_of(std::size_t b) const {
    return (b + 1) * block < count ? (b + 1) * block : count;
  }
  /// Calls body(b) for each block of the map, in order.
  template <class Body>
  KOKKOS_INLINE_FUNCTION void for_each_block(const Body& body) const {
    for (std::size_t w = 0; w < words(); ++w) for_each_one(word(w), w, body);
  }
  /// Calls body(b, whether it is in the map) for each block of word `w`.
  template <class Body>
  KOKKOS_INLINE_FUNCTION void for_each_of_word(std::size_t w, const Body& body) const {
    const std::uint64_t bits = word(w);
    for (std::size_t b = w * word_bits; b < (w + 1) * word_bits && b < blocks(); ++b) {
      body(b, (bits >> b % word_bits & 1) != 0);
    }
  }
};

}  // namespace lacuna::kernels
