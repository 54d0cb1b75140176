#pragma once

#include <vector>

#include "algorithms/blocks/sets.hpp"
#include "algorithms/blocks/steps.hpp"
#include "algorithms/phases/stopwatch.hpp"

/// The parts from which the kernels of blocks are made.
namespace lacuna::block {

/// The most blocks of a shard, and the most elements.
std::size_t most_blocks(const PartView& part);
std::size_t most_elements(const PartView& part);
/// The bytes of a table of one set, and the most bytes of the message of one.
std::size_t bytes_of_set(const PartView& part);
std::size_t bytes_of_message(const PartView& part);

/// The buffer of a table with a set for each owner. Each of its even pieces is a set.
extern const BufferInfo sets_of_owners;
/// The buffer of a table of one set, and of a message of one.
extern const BufferInfo one_set, one_message;
/// One of `of` even pieces of a buffer.
Region piece_of(const Region& all, Rank piece, Rank of);

/// Does only position 0 bring data?
inline bool is_rooted(const GraphBuilder& g) { return traits_of(g.collective()).reads == Having::Root; }
inline bool is_rooted(const PartView& part) { return traits_of(part.call.collective).reads == Having::Root; }
/// Does this position bring blocks to a shard? Does it get the blocks of the result?
inline bool brings(const GraphBuilder& g, Rank position) { return !is_rooted(g) || position == 0; }
inline bool gets(const GraphBuilder& g, Rank position) { return !is_rooted(g) || position != 0; }
inline bool is_owner(const GraphBuilder& g, Rank position) { return position < owners_of(g); }

/// The position so many places after the own one.
inline Rank position_at(Rank own, Rank distance, Rank size) { return ((own + distance) % size + size) % size; }

/// Ports of the own data: all of them, or a region for each owner. Kernels write to a residual, from which they take
/// what they send.
struct Data {
  Reads read{};
  Writes kept{};

  const Extent& of(Rank owner) const {
    const auto i = static_cast<std::size_t>(owner);
    if (!kept.empty()) return kept.size() == 1 ? kept[0] : kept[i];
    return read.size() == 1 ? read[0] : read[i];
  }
  bool is_kept() const { return !kept.empty(); }
};
Data own_data(const GraphBuilder& g);
/// The data of one owner's shard.
Data own_data_for(const GraphBuilder& g, Rank owner);

/// Must blocks of the output that nobody has be cleared? Not in place, where they are zero already, if the output is
/// where the input is.
inline bool clears_others(const GraphBuilder& g) {
  return !g.in_place() || form_of(g).keeps || !traits_of(g.collective()).reduces;
}

/// What a sum is scaled by: avg divides.
Scale scale_of(const PartView& part);

}  // namespace lacuna::block
