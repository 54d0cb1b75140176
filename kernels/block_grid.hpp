#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/values/digest.hpp"

/// Arrays that are cut into blocks, of which only some matter.
namespace lacuna::kernels {

/// Some blocks of an array, which is cut into blocks of `length` elements; the last one may be shorter. The blocks of
/// the array stand in groups of `stride`, and a grid has one block of each group: at place `first` in the first group.
/// If it turns, it has another place in each other group, which looks random. Then blocks that lie at equal distances,
/// whatever these are, are spread over the `stride` grids of an array. The blocks of a grid have the numbers
/// 0 .. count()-1.
struct BlockGrid {
  std::size_t elements = 0;  ///< elements of the array
  std::size_t length = 1;    ///< elements of a block; at least 1
  std::size_t first = 0, stride = 1;
  bool turns = false;

  constexpr std::size_t blocks_of_array() const { return elements / length + (elements % length != 0 ? 1 : 0); }
  /// By how many places all grids turn in a group.
  constexpr std::size_t turn(std::size_t group) const { return turns ? (mix64(group) >> 32) * stride >> 32 : 0; }
  constexpr std::size_t place(std::size_t group) const {
    const std::size_t turned = first + turn(group);
    return turned < stride ? turned : turned - stride;
  }
  /// The place in the first group of the grid that has this block of the array.
  constexpr std::size_t first_of(std::size_t block) const {
    const std::size_t place = block % stride, turned = turn(block / stride);
    return place < turned ? place + stride - turned : place - turned;
  }
  constexpr std::size_t count() const {
    const std::size_t all = blocks_of_array(), groups = all / stride;
    return groups + (place(groups) < all % stride ? 1 : 0);
  }
  /// The first element of block `b`.
  constexpr std::size_t begin(std::size_t b) const { return (b * stride + place(b)) * length; }
  /// The number of elements of block `b`.
  constexpr std::size_t size(std::size_t b) const {
    const std::size_t left = elements - begin(b);
    return left < length ? left : length;
  }
  /// By how many elements the last block of the grid is shorter than the others.
  constexpr std::size_t missing() const { return count() == 0 ? 0 : length - size(count() - 1); }
};

/// The number of words of 64 bits that a bitmap of so many bits fills.
constexpr std::size_t words_of_map(std::size_t bits) { return (bits + 63) / 64; }

/// A set of blocks of a grid. Bit b of the map says whether block b is in the set. ranks[w] says how many bits stand
/// before word w of the map, so that each block of the set has a rank, from 0; the last of the 1 + words_of_map() ranks
/// is the number of all blocks of the set. Backend::rank_bits writes ranks. *Packed* blocks of a set lie one behind the
/// other, in the order of their ranks.
struct BlockSet {
  const std::byte* map = nullptr;
  const std::uint32_t* ranks = nullptr;
};

/// The blocks that one rank brings to a sum.
struct BlockSource {
  BlockSet set{};
  const std::byte* data = nullptr;
  bool is_packed = true;  ///< the data are the packed blocks; false: they are the whole array of the grid
};

}  // namespace lacuna::kernels
