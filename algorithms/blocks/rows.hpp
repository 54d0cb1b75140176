#pragma once

#include <vector>

#include "algorithms/blocks/slots.hpp"

/// What the phases of streamed_blocks share.
namespace lacuna::block {

inline constexpr std::size_t number_bytes = sizeof(std::uint32_t);
inline constexpr std::size_t most_columns = 64;

inline std::byte* element(const Extent& of, std::size_t i) { return of.data + i * size_of(of.dtype); }

/// The buffers of a number of a row for each column, and of a block for each column with such a number.
extern const BufferInfo pointers_of_slot, blocks_of_slot;

/// The own data: the input, or the residual, to which each slot adds its blocks of the input when it begins. Positions
/// that bring none have none.
Data data_of_slot(GraphBuilder& g);
/// Is this position the owner of the slot?
inline bool owns(const GraphBuilder& g) { return g.position() == stream_form_of(g).owner; }
/// The other positions that bring data, by distance before the own position.
std::vector<Rank> senders_of(const GraphBuilder& g);
/// The position that sends number i of the messages that come from these.
Rank sender_at(const PartView& part, std::size_t i);

/// Writes zeros to the rows [begin, end) of a column of the output.
void clear_rows(const KernelCall& call, const Slot& slot, std::uint32_t column, std::uint32_t begin, std::uint32_t end,
                const Write& output);
/// Says that a rank has told a row that does not follow.
Status refuse_row(Rank from, std::uint32_t row);

// The phases.

/// Each position finds its own blocks that are not zero. With a burst, it also asks for the first row.
void look_at_slot(GraphBuilder& g, const Region& slots);
/// All positions tell the owner of the slot where their first blocks are, and the owner tells all where the first block
/// of each column is.
void ask_for_first(GraphBuilder& g, const Region& slots);

/// The result of a row, and the part of it that says which rows come next.
struct Row {
  Region result, pointers;
};
/// The owner gets the blocks that it has asked for, reduces them, and sends the result to all.
void collect_row(GraphBuilder& g, const Region& slots, const Row& row);
/// Another position sends the blocks that it has of those that are asked for, and gets the result.
void answer_row(GraphBuilder& g, const Region& slots, const Row& row);
/// Says how long the result of the next row will be.
Row expect_row(GraphBuilder& g, const Region& slots);
/// Writes the result of the row to the output, and asks for the rows that come next.
void place_row(GraphBuilder& g, const Region& slots, const Row& row);

}  // namespace lacuna::block
