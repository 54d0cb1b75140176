#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Blocks of different lengths in one buffer, one for each rank. The tables belong to the caller. They are read when a
/// call is started or prepared, and not later.
struct Blocks {
  std::span<const std::size_t> counts{};  ///< elements of each rank's block; 0 is allowed
  /// Where each block begins, in elements, ascending. Empty: each block begins where the one before it ends.
  std::span<const std::size_t> offsets{};
  /// For the output of gatherv and alltoallv. If it is given, `counts` says how many elements may come at most, and the
  /// call writes here how many have come from each rank. This memory must then live until the call has ended.
  std::span<std::size_t> received{};
};

/// Where the block of a rank begins, in elements.
std::size_t offset_of(const Blocks& blocks, Rank rank);

/// The number of elements that a buffer of these blocks needs. It ends with the last block that is not empty.
std::size_t length_of(const Blocks& blocks);

/// The number of elements of the longest block.
std::size_t longest_of(const Blocks& blocks);

/// Returns ok, or why these can't be the blocks of `size` ranks: the tables have another length, blocks overlap or do
/// not ascend, or they are more than memory can hold. The error calls the buffer `name`.
Status check_blocks(const Blocks& blocks, std::string_view name, Rank size, Dtype dtype);

}  // namespace lacuna
