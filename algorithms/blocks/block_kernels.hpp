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
/// The set of an owner in such a table.
Region set_of_owner(const GraphBuilder& g, const Region& sets, Rank owner);
/// Where the set of an owner lies in such a table.
std::byte* set_at(const PartView& part, std::byte* sets, Rank owner);

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
  bool is_empty() const { return read.empty() && kept.empty(); }
};
Data own_data(const GraphBuilder& g);
/// The data of one owner's shard.
Data own_data_for(const GraphBuilder& g, Rank owner);

/// Must blocks of the output that nobody has be cleared? Not in place, where they are zero already, if the output is
/// where the input is.
inline bool clears_others(const GraphBuilder& g) {
  return !g.in_place() || form_of(g).keeps || !traits_of(g.collective()).reduces;
}

/// What the terms of a sum are multiplied by (factor_of_terms), and what the sum is scaled by then.
SumScale scale_of(const PartView& part);

}  // namespace lacuna::block
