#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Blocks of different lengths in one buffer, one for each rank. The tables belong to the caller and are read when a
/// call is started or prepared, not later.
struct Blocks {
  std::span<const std::size_t> counts{};   ///< elements, by rank; 0 is allowed
  std::span<const std::size_t> offsets{};  ///< where each begins, in elements, ascending; empty: one behind the other
  /// Of gatherv's and alltoallv's output: where given, `counts` are what may come at most, and how many elements have
  /// come from each rank is written here by the call's end. Then this memory must live until the call has ended.
  std::span<std::size_t> received{};
};

/// Where the block of a rank begins, in elements.
std::size_t offset_of(const Blocks& blocks, Rank rank);

/// Elements that a buffer of these blocks needs: up to the end of the last one that is not empty.
std::size_t length_of(const Blocks& blocks);

/// The longest block.
std::size_t longest_of(const Blocks& blocks);

/// Ok, or why these are no blocks of `size` ranks in a buffer that messages call `name`: tables of another length,
/// blocks that overlap or do not ascend, or more than memory can hold.
Status check_blocks(const Blocks& blocks, std::string_view name, Rank size, Dtype dtype);

}  // namespace lacuna
