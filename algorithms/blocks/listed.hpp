#pragma once

#include <optional>
#include <vector>

#include "algorithms/blocks/block_kernels.hpp"
#include "algorithms/phases/entry_lists.hpp"

/// Lists of blocks. A call may bring a list instead of all of its data (InputEntries), and ask for one (OutputEntries).
/// Each entry has the elements of a block, and its place is the block's number in the data.
namespace lacuna::block {

using sparse::brings_list;

/// Ports of the kernel that looks at the own list. It numbers the blocks that are listed, through all shards, and sorts
/// the entries by these numbers, as kernels::Backend::sum_rows takes them. `numbers` has the number of each entry, and
/// `firsts` that of the first block of each shard.
struct SortEntries {
  Read places{};
  Write numbers{}, begins{}, order{}, firsts{};

  /// Writes the maps of the shards. An error says which place there can't be.
  Status write_maps(const KernelCall& call, std::byte* sets) const;
  /// Sorts, once the sets are complete.
  void run(const KernelCall& call, const std::byte* sets) const;
};

/// Ports of a kernel that packs blocks of the own list.
struct PackEntries {
  Read values{}, begins{}, order{}, firsts{};

  /// Packs the blocks of a shard.
  void run(const KernelCall& call, Rank owner, std::byte* packed) const;
};

/// The list that this rank brings. If it brings none, no kernel looks at these ports.
struct OwnList {
  SortEntries sort{};
  PackEntries pack{};
};
OwnList own_list(GraphBuilder& g);

/// What a position brings to its own shard. It is empty if the position brings no data.
struct Brought {
  Region set{};
  PackEntries list{};
};
/// Receives the blocks of the own shard and reduces them.
Owned reduce_own_shard(GraphBuilder& g, const Brought& own);

/// The most elements of the packed blocks of a shard, and of all shards, if the rank brings a list; else 0.
std::size_t most_listed_of_shard(const PartView& part);
std::size_t most_listed(const PartView& part);

/// Writes the result as a list.
void list_result(GraphBuilder& g, const Others& others, const Owned& own);

}  // namespace lacuna::block
