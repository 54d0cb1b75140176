#include "algorithms/blocks/sets.hpp"

#include <fmt/format.h>

#include <cstring>

#include "algorithms/blocks/rows.hpp"
#include "kernels/elements.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::block {
namespace {

using kernels::BlockSet;
using kernels::load;
using kernels::store;
using kernels::words_of_map;

std::size_t map_bytes(std::size_t blocks) { return (blocks + 7) / 8; }
bool is_listed(std::size_t count, std::size_t blocks) { return count * number_bytes < map_bytes(blocks); }

/// Writes the map of the numbers in a message. Returns whether they ascend and are all below `blocks`.
bool read_list(const std::byte* numbers, std::size_t count, std::size_t blocks, std::byte* map) {
  std::memset(map, 0, map_bytes(blocks));
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto block = load<std::uint32_t>(numbers, i);
    if (block < next || block >= blocks) return false;
    map[block / 8] |= std::byte{1} << block % 8;
    next = std::uint64_t{block} + 1;
  }
  return true;
}

/// Copies the map of a message. Returns whether no bit stands behind the last block.
bool read_map(const std::byte* from, std::size_t blocks, std::byte* map) {
  const std::size_t bytes = map_bytes(blocks);
  std::memcpy(map, from, bytes);
  return blocks % 8 == 0 || (map[bytes - 1] >> blocks % 8) == std::byte{0};
}

Status refuse(Rank from, std::string_view what) {
  return {Code::Mismatch, fmt::format("the set of blocks of rank {}: {}", from, what)};
}

}  // namespace

BlockSet set_in(const std::byte* at, std::size_t blocks) {
  return {at, reinterpret_cast<const std::uint32_t*>(at + words_of_map(blocks) * sizeof(std::uint64_t))};
}

std::byte* map_in(std::byte* at) { return at; }

std::uint32_t* ranks_in(std::byte* at, std::size_t blocks) {
  return reinterpret_cast<std::uint32_t*>(at + words_of_map(blocks) * sizeof(std::uint64_t));
}

void complete_set(const kernels::Backend& on, std::byte* at, std::size_t blocks) {
  std::byte* const map = map_in(at);
  const std::size_t bytes = map_bytes(blocks);
  std::memset(map + bytes, 0, words_of_map(blocks) * sizeof(std::uint64_t) - bytes);
  on.rank_bits(map, blocks, ranks_in(at, blocks));
}

std::uint32_t rank_in(const BlockSet& set, std::size_t block) {
  const std::uint64_t before = (std::uint64_t{1} << block % 64) - 1;
  return set.ranks[block / 64] +
         static_cast<std::uint32_t>(std::popcount(load<std::uint64_t>(set.map, block / 64) & before));
}

std::size_t size_of(const BlockSet& set, std::size_t blocks) { return set.ranks[words_of_map(blocks)]; }

std::size_t elements_of(const BlockSet& set, const kernels::BlockGrid& grid) {
  const std::size_t blocks = grid.count();
  if (blocks == 0) return 0;
  const std::size_t last = blocks - 1;
  const bool has_last = (set.map[last / 8] >> last % 8 & std::byte{1}) != std::byte{0};
  return size_of(set, blocks) * grid.length - (has_last ? grid.missing() : 0);
}

std::size_t write_set(const BlockSet& set, std::size_t blocks, std::byte* to) {
  const std::size_t count = size_of(set, blocks);
  if (count == 0) return 0;
  store(to, 0, static_cast<std::uint32_t>(count));
  if (!is_listed(count, blocks)) {
    std::memcpy(to + number_bytes, set.map, map_bytes(blocks));
    return number_bytes + map_bytes(blocks);
  }
  std::size_t at = 1;
  each_bit(set.map, blocks, [&](std::size_t block) { store(to, at++, static_cast<std::uint32_t>(block)); });
  return at * number_bytes;
}

Status read_set(const kernels::Backend& on, const Extent& message, Rank from, std::size_t blocks, std::byte* at) {
  std::byte* const map = map_in(at);
  const std::size_t bytes = message.bytes();
  if (bytes == 0) {
    std::memset(map, 0, map_bytes(blocks));
  } else {
    const std::size_t count = bytes < number_bytes ? 0 : load<std::uint32_t>(message.data, 0);
    const std::size_t expected = number_bytes + (is_listed(count, blocks) ? count * number_bytes : map_bytes(blocks));
    if (count == 0 || count > blocks || bytes != expected) {
      return refuse(from, fmt::format("a message of {} names {} of {}", count_of(bytes, "byte"),
                                      count_of(count, "block"), blocks));
    }
    const std::byte* const told = message.data + number_bytes;
    if (is_listed(count, blocks) ? !read_list(told, count, blocks, map) : !read_map(told, blocks, map)) {
      return refuse(from, fmt::format("numbers must ascend below {}", blocks));
    }
    complete_set(on, at, blocks);
    const std::size_t found = size_of(set_in(at, blocks), blocks);
    if (found == count) return {};
    return refuse(from, fmt::format("it has {}, and {} were announced", count_of(found, "block"), count));
  }
  complete_set(on, at, blocks);
  return {};
}

}  // namespace lacuna::block
