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
};

/// What a buffer of a collective holds, in elements: nothing, `count`, or `count` for each rank, by rank.
enum class Holds : std::uint8_t { Nothing, Data, Blocks };

/// The ranks that have a buffer.
enum class Having : std::uint8_t { All, Root };

/// What is true of a collective whatever its algorithm. All code that treats collectives alike reads it here.
struct CollectiveTraits {
  Collective collective;
  std::string_view name;
  Holds input, output;
  Having reads = Having::All;   ///< its input
  Having writes = Having::All;  ///< its output
  bool reduces = false;         ///< the call's reduction counts
  bool averages = false;        ///< that may be avg
};

inline constexpr std::array collective_traits = {
    CollectiveTraits{.collective = Collective::Allreduce,
                     .name = "allreduce",
                     .input = Holds::Data,
                     .output = Holds::Data,
                     .reduces = true,
                     .averages = true},
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

/// Some buffer holds a block for each rank; pieces are then blocks.
constexpr bool has_blocks(Collective collective) {
  return traits_of(collective).input == Holds::Blocks || traits_of(collective).output == Holds::Blocks;
}

constexpr bool reads_input(Collective collective, Rank rank, Rank root) {
  return moves_data(collective) && (traits_of(collective).reads == Having::All || rank == root);
}

constexpr bool writes_output(Collective collective, Rank rank, Rank root) {
  return moves_data(collective) && (traits_of(collective).writes == Having::All || rank == root);
}

/// Is this reduction defined for the collective? One that does not reduce takes any, and looks at none.
constexpr bool takes(Collective collective, Dtype dtype, Reduction reduction) {
  const CollectiveTraits& traits = traits_of(collective);
  return !traits.reduces || reduction != Reduction::Avg || (traits.averages && !is_integer(dtype));
}

/// In buffers of so many bytes per `count`: the length of a buffer, and where in the larger buffer the smaller one lies
/// when a call is in place, at `rank`.
constexpr std::size_t length_of(Holds holds, std::size_t bytes, Rank size) {
  return holds == Holds::Nothing ? 0 : holds == Holds::Data ? bytes : bytes * static_cast<std::size_t>(size);
}

struct InPlace {
  std::size_t input = 0, output = 0;  ///< offsets from the beginning of the larger buffer
};

constexpr InPlace in_place_offsets(Collective collective, std::size_t bytes, Rank rank) {
  const CollectiveTraits& traits = traits_of(collective);
  const std::size_t own = bytes * static_cast<std::size_t>(rank);
  if (traits.input == traits.output) return {};
  return traits.input == Holds::Blocks ? InPlace{.output = own} : InPlace{.input = own};
}

}  // namespace lacuna
