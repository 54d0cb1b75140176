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

/// How many elements of packed blocks go from one position to another, which both know from the sets.
Value elements_between(GraphBuilder& g, Rank from, Rank to);

/// The packed blocks that come from other positions. If the result is a list, each message carries its length and stays
/// where it lands, so that no memory is as long as the data.
struct Arriving {
  /// Where the blocks of each position go, and how many elements they have. Empty if they stay where they land.
  std::vector<Value> offsets{}, elements{};
  std::vector<Region> packed{};

  /// The next position. Its blocks go to this room, once kernels have defined the last of the values.
  void expect(GraphBuilder& g, Rank from, const Region& room);
  void receive(GraphBuilder& g, const std::vector<Rank>& from);
};
/// The room for the packed blocks of all positions. It is empty if they stay where they land.
Region room_of_all(GraphBuilder& g, std::size_t (*elements)(const PartView& part));
/// Ok, or a mismatch: the packed blocks that have come from a position are not those of its set.
Status check_packed(const Extent& packed, Rank from, std::size_t elements);
/// Ok, or an error: this position has no room for a result of so many entries. `of_all`: there are no more.
Status check_room(const PartView& part, std::size_t entries, bool of_all);
/// The most elements of the result in a shard. A list holds no more than there is room for.
std::size_t most_of_result(const PartView& part);

/// The most elements of the packed blocks of a shard, and of all shards, if the rank brings a list; else 0.
std::size_t most_listed_of_shard(const PartView& part);
std::size_t most_listed(const PartView& part);

/// Writes the result as a list.
void list_result(GraphBuilder& g, const Others& others, const Owned& own);

}  // namespace lacuna::block
