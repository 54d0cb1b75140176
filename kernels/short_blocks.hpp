#pragma once

#include <Kokkos_Macros.hpp>
#include <cstddef>
#include <cstdint>

#include "kernels/bits.hpp"
#include "kernels/block_grid.hpp"

/// Functors for grids of short blocks, of which each call takes those of a whole byte or word of the map.
namespace lacuna::kernels {

/// Blocks of at least so many elements are worth a team each.
inline constexpr std::size_t long_block = 32;

/// Writes a byte of the map of all elements that have a bit that is not 0. T has the size of an element.
template <class T>
struct FindElements {
  const std::byte* from;
  std::size_t count;
  std::byte* map;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const std::size_t first = 8 * i, length = first + 8 < count ? 8 : count - first;
    unsigned bits = 0;
    if (length == 8) {
      for (unsigned j = 0; j < 8; ++j) bits |= (load<T>(from, first + j) != 0 ? 1u : 0u) << j;
    } else {
      for (unsigned j = 0; j < length; ++j) bits |= (load<T>(from, first + j) != 0 ? 1u : 0u) << j;
    }
    map[i] = static_cast<std::byte>(bits);
  }
};

/// Copies the blocks of one word of a set between an array and packed blocks. T has the size of an element.
template <class T, bool packs>
struct MoveShortBlocks {
  BlockSet set;
  std::size_t count;
  BlockGrid grid;
  const std::byte* from;
  std::byte* to;
  bool clears;  ///< blocks of the array that are not in the set become 0

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t w) const {
    const std::uint64_t word = load_word(set.map, (count + 7) / 8, w);
    std::size_t packed = set.ranks[w] * grid.length;
    if (clears) clear(word, w);
    for_each_one(word, w, [&](std::size_t b) {
      const std::size_t begin = grid.begin(b), size = grid.size(b);
      const std::size_t source = packs ? begin : packed, target = packs ? packed : begin;
      for (std::size_t i = 0; i < size; ++i) store<T>(to, target + i, load<T>(from, source + i));
      packed += grid.length;
    });
  }

  KOKKOS_INLINE_FUNCTION void clear(std::uint64_t word, std::size_t w) const {
    const std::size_t first = w * word_bits, last = first + word_bits < count ? first + word_bits : count;
    if (grid.stride == 1) {  // then the blocks lie side by side
      const std::size_t end = grid.begin(last - 1) + grid.size(last - 1);
      for (std::size_t i = grid.begin(first); i < end; ++i) store<T>(to, i, T{0});
      return;
    }
    for (std::size_t b = first; b < last; ++b) {
      if ((word >> b % word_bits & 1) != 0) continue;
      for (std::size_t i = 0; i < grid.size(b); ++i) store<T>(to, grid.begin(b) + i, T{0});
    }
  }
};

}  // namespace lacuna::kernels
