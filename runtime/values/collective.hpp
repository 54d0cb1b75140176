#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/values/dtype.hpp"

namespace lacuna {

/// What can be asked of a communicator. The numbers travel in digests and checkpoints: new ones go to the end.
enum class Collective : std::uint8_t {
  Allreduce = 0,
  ReduceScatter = 1,
  Allgather = 2,
  Broadcast = 3,
  Barrier = 4,
  Reduce = 5,
  Gather = 6,
  Scatter = 7,
  Alltoall = 8,
  Scan = 9,
  ExclusiveScan = 10,
  ReduceScatterv = 11,
  Allgatherv = 12,
  Gatherv = 13,
  Scatterv = 14,
  Alltoallv = 15,
};

/// What a buffer of a collective holds: nothing, `count` elements, or a block for each rank.
enum class Holds : std::uint8_t { Nothing, Data, Blocks };

/// How long a collective's blocks are.
/// Equal: all have `count` elements. Agreed: a table says it, which is the same on all ranks. Told: a table of the rank
/// that has the buffer says it. Then only the two ends of a message know the length, and the message carries it.
enum class Lengths : std::uint8_t { Equal, Agreed, Told };

/// The ranks that have a buffer.
enum class Having : std::uint8_t { All, Root };

/// What is true of a collective, whatever algorithm carries it out. Code that serves all collectives reads it here.
struct CollectiveTraits {
  Collective collective;
  std::string_view name;
  Holds input, output;
  Having reads = Having::All;   ///< the ranks that have an input
  Having writes = Having::All;  ///< the ranks that have an output
  bool reduces = false;         ///< it adds up, or combines, elements as Call::reduction says
  bool averages = false;        ///< its reduction may be avg
  Lengths lengths = Lengths::Equal;
  bool in_pieces = false;  ///< the data are cut into a piece for each rank, and a message carries one piece
};

inline constexpr std::array collective_traits = {
    CollectiveTraits{.collective = Collective::Allreduce,
                     .name = "allreduce",
                     .input = Holds::Data,
                     .output = Holds::Data,
                     .reduces = true,
                     .averages = true,
                     .in_pieces = true},
    CollectiveTraits{.collective = Collective::ReduceScatter,
                     .name = "reduce_scatter",
                     .input = Holds::Blocks,
                     .output = Holds::Data,
                     .reduces = true,
                     .averages = true},
    CollectiveTraits{
        .collective = Collective::Allgather, .name = "allgather", .input = Holds::Data, .output = Holds::Blocks},
    CollectiveTraits{.collective = Collective::Broadcast,
                     .name = "broadcast",
                     .input = Holds::Data,
                     .output = Holds::Data,
                     .reads = Having::Root},
    CollectiveTraits{
        .collective = Collective::Barrier, .name = "barrier", .input = Holds::Nothing, .output = Holds::Nothing},
    CollectiveTraits{.collective = Collective::Reduce,
                     .name = "reduce",
                     .input = Holds::Data,
                     .output = Holds::Data,
                     .writes = Having::Root,
                     .reduces = true,
                     .averages = true},
    CollectiveTraits{.collective = Collective::Gather,
                     .name = "gather",
                     .input = Holds::Data,
                     .output = Holds::Blocks,
                     .writes = Having::Root},
    CollectiveTraits{.collective = Collective::Scatter,
                     .name = "scatter",
                     .input = Holds::Blocks,
                     .output = Holds::Data,
                     .reads = Having::Root},
    CollectiveTraits{
        .collective = Collective::Alltoall, .name = "alltoall", .input = Holds::Blocks, .output = Holds::Blocks},
    CollectiveTraits{
        .collective = Collective::Scan, .name = "scan", .input = Holds::Data, .output = Holds::Data, .reduces = true},
    CollectiveTraits{.collective = Collective::ExclusiveScan,
                     .name = "exclusive_scan",
                     .input = Holds::Data,
                     .output = Holds::Data,
                     .reduces = true},
    CollectiveTraits{.collective = Collective::ReduceScatterv,
                     .name = "reduce_scatterv",
                     .input = Holds::Blocks,
                     .output = Holds::Data,
                     .reduces = true,
                     .averages = true,
                     .lengths = Lengths::Agreed},
    CollectiveTraits{.collective = Collective::Allgatherv,
                     .name = "allgatherv",
                     .input = Holds::Data,
                     .output = Holds::Blocks,
                     .lengths = Lengths::Agreed},
    CollectiveTraits{.collective = Collective::Gatherv,
                     .name = "gatherv",
                     .input = Holds::Data,
                     .output = Holds::Blocks,
                     .writes = Having::Root,
                     .lengths = Lengths::Told},
    CollectiveTraits{.collective = Collective::Scatterv,
                     .name = "scatterv",
                     .input = Holds::Blocks,
                     .output = Holds::Data,
                     .reads = Having::Root,
                     .lengths = Lengths::Told},
    CollectiveTraits{.collective = Collective::Alltoallv,
                     .name = "alltoallv",
                     .input = Holds::Blocks,
                     .output = Holds::Blocks,
                     .lengths = Lengths::Told},
};

constexpr const CollectiveTraits& traits_of(Collective collective) {
  return collective_traits[static_cast<std::size_t>(collective)];
}

inline constexpr auto all_collectives = [] {
  std::array<Collective, collective_traits.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = collective_traits[i].collective;
  return all;
}();

constexpr std::string_view to_string(Collective collective) { return traits_of(collective).name; }

constexpr std::optional<Collective> parse_collective(std::string_view name) {
  for (const CollectiveTraits& traits : collective_traits) {
    if (traits.name == name) return traits.collective;
  }
  return std::nullopt;
}

constexpr bool moves_data(Collective collective) { return traits_of(collective).input != Holds::Nothing; }

constexpr bool has_root(Collective collective) {
  return traits_of(collective).reads == Having::Root || traits_of(collective).writes == Having::Root;
}

/// Does one of its buffers hold a block for each rank? Its pieces are then these blocks.
constexpr bool has_blocks(Collective collective) {
  return traits_of(collective).input == Holds::Blocks || traits_of(collective).output == Holds::Blocks;
}

/// Do its blocks differ in length, so that a call brings tables of them?
constexpr bool has_tables(Collective collective) { return traits_of(collective).lengths != Lengths::Equal; }

constexpr bool reads_input(Collective collective, Rank rank, Rank root) {
  return moves_data(collective) && (traits_of(collective).reads == Having::All || rank == root);
}

constexpr bool writes_output(Collective collective, Rank rank, Rank root) {
  return moves_data(collective) && (traits_of(collective).writes == Having::All || rank == root);
}

/// Is this reduction defined for the collective? A collective that does not reduce allows all and uses none.
constexpr bool takes(Collective collective, Dtype dtype, Reduction reduction) {
  const CollectiveTraits& traits = traits_of(collective);
  return !traits.reduces || (defines(dtype, reduction) && (reduction != Reduction::Avg || traits.averages));
}

}  // namespace lacuna
