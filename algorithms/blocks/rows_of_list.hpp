#pragma once

#include <optional>
#include <vector>

#include "algorithms/blocks/block_kernels.hpp"
#include "algorithms/phases/entry_lists.hpp"

/// Lists of rows. A call may bring a list instead of all of its data (InputEntries), and ask for one (OutputEntries). A
/// row is a block, and its place is the block's number in the data.
namespace lacuna::block {

/// Does this rank bring a list?
inline bool brings_list(const PartView& part) { return part.call.input_entries.places != nullptr; }

/// The tables of the own list. In them, the rows of all shards are numbered, one shard after the other. They have no
/// rows if the rank brings no list.
struct RowTables {
  Region numbers;        ///< of each entry of the list
  Region begins, order;  ///< the entries of each row (kernels::Backend::sum_rows)
  Region firsts;         ///< the number of the first row of each shard
};

/// Ports of the kernel that looks at the own list.
struct SortRows {
  Read places{};
  Write numbers{}, begins{}, order{}, firsts{};

  /// Writes the maps of the shards. An error says which place there can't be.
  Status write_maps(const KernelCall& call, std::byte* sets) const;
  /// Numbers and sorts the rows, once the sets are complete.
  void run(const KernelCall& call, const std::byte* sets) const;
};

/// Ports of a kernel that packs rows of the own list.
struct PackRows {
  Read values{}, begins{}, order{}, firsts{};

  /// Packs the rows of a shard.
  void run(const KernelCall& call, Rank owner, std::byte* packed) const;
};

/// The own list, for the kernel that looks at it and for those that pack its rows.
struct OwnList {
  SortRows sort{};
  PackRows pack{};
};
OwnList own_list(GraphBuilder& g);

/// What a position brings to its own shard. It is empty if the position brings no data.
struct Brought {
  Region set{};
  PackRows rows{};
};
/// Receives the blocks of the own shard and reduces them.
Owned reduce_own_shard(GraphBuilder& g, const Brought& own);

/// The most elements of the packed blocks of a shard, and of all shards, if the rank brings a list; else 0.
std::size_t most_listed_of_shard(const PartView& part);
std::size_t most_listed(const PartView& part);

/// Writes the result as a list of rows.
void list_result(GraphBuilder& g, const Others& others, const Owned& own);

}  // namespace lacuna::block
