#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/backend.hpp"
#include "runtime/graph/kernel.hpp"
#include "runtime/values/status.hpp"

/// Sets of blocks in the host's memory, and the messages that tell them.
namespace lacuna::block {

/// The bytes that a set of blocks of a grid takes in a table: its map, in whole words, and its ranks.
constexpr std::size_t set_bytes(std::size_t blocks) {
  const std::size_t words = kernels::words_of_map(blocks);
  return (words + (words + 2) / 2) * sizeof(std::uint64_t);
}
/// The set that lies in a table at this address.
kernels::BlockSet set_in(const std::byte* at, std::size_t blocks);
/// Where the map of such a set is written, and its ranks.
std::byte* map_in(std::byte* at);
std::uint32_t* ranks_in(std::byte* at, std::size_t blocks);
/// Fills in the bits behind the last block, which are 0, and the ranks of a set whose map has been written.
void complete_set(const kernels::Backend& on, std::byte* at, std::size_t blocks);
/// Calls visit(bit) for the bits of a map that are 1, in order. The bits behind the last one must be 0.
template <class Visit>
void each_bit(const std::byte* map, std::size_t length, const Visit& visit) {
  for (std::size_t w = 0; w < kernels::words_of_map(length); ++w) {
    std::uint64_t word = 0;
    std::memcpy(&word, map + w * sizeof(word), std::min(sizeof(word), (length + 7) / 8 - w * sizeof(word)));
    for (; word != 0; word &= word - 1) visit(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
  }
}

/// How many blocks of the set stand before this one.
std::uint32_t rank_in(const kernels::BlockSet& set, std::size_t block);
/// How many blocks the set has.
std::size_t size_of(const kernels::BlockSet& set, std::size_t blocks);
/// How many elements its packed blocks have.
std::size_t elements_of(const kernels::BlockSet& set, const kernels::BlockGrid& grid);

/// The most bytes of the message of a set.
constexpr std::size_t most_message_bytes(std::size_t blocks) { return sizeof(std::uint32_t) + (blocks + 7) / 8; }
/// Writes the message of a set, and returns its bytes. An empty set has an empty message. Others begin with the number
/// of blocks in 32 bits. Then follow the numbers of the blocks in 32 bits each or, if that is not longer, the map.
std::size_t write_set(const kernels::BlockSet& set, std::size_t blocks, std::byte* to);
/// Reads the message of a set from rank `from` into a table. An error says what is wrong with it.
Status read_set(const kernels::Backend& on, const Extent& message, Rank from, std::size_t blocks, std::byte* at);

}  // namespace lacuna::block
