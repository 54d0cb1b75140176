#pragma once

#include <cstdint>
#include <limits>

#include "algorithms/blocks/block_kernels.hpp"

/// The slots of streamed_blocks. The blocks of the data stand in rows of slots * columns blocks each. A *lane* is a
/// grid with a block of each row (kernels::BlockGrid, which turns), and lane slot * columns + c is column c of a slot.
/// A slot goes through its columns from row to row, each on its own.
namespace lacuna::block {

inline StreamForm stream_form_of(const GraphBuilder& g) { return g.parameters<StreamForm>(); }
inline StreamForm stream_form_of(const PartView& part) { return part.part.structure.parameters.as<StreamForm>(); }
inline StreamArguments stream_arguments_of(const PartView& part) { return part.part.arguments.as<StreamArguments>(); }

/// Stands for the row of a lane in which no block is left.
inline constexpr std::uint32_t no_row = std::numeric_limits<std::uint32_t>::max();

/// The buffer of the slots' memory, which lasts for the run: which blocks of the own data are not zero, which rows the
/// owner has asked for, and, at the owner, the next row of each rank.
extern const BufferInfo slots_of_run;
/// The most bytes of a message of blocks, with the number of a row for each.
std::size_t bytes_of_row(const PartView& part);

/// The memory of the part's slot. A slot has at most one part at a time, and no other slot shares its memory.
class Slot {
 public:
  Slot(const PartView& part, const Write& slots);

  std::uint32_t columns() const { return columns_; }
  /// The blocks of a column, one for each row.
  kernels::BlockGrid grid(std::uint32_t column) const;
  std::uint32_t rows(std::uint32_t column) const { return static_cast<std::uint32_t>(grid(column).count()); }
  /// The map of a column: bit r says that the own block in row r is not zero. It has as many words as the longest
  /// column needs.
  std::byte* map(std::uint32_t column) const { return at_ + column * map_bytes_; }
  bool has(std::uint32_t column, std::uint32_t row) const;
  /// The first row from `row` on whose own block is not zero.
  std::uint32_t next_own(std::uint32_t column, std::uint32_t row) const;
  /// The row that is asked for.
  std::uint32_t& asked(std::uint32_t column) const { return asked_[column]; }
  /// The next row in which a rank has a block that is not zero. Only the owner knows it.
  std::uint32_t& next(std::uint32_t column, Rank rank) const {
    return next_[column * ranks_ + static_cast<std::size_t>(rank)];
  }
  /// The least of all ranks' next rows.
  std::uint32_t least_next(std::uint32_t column) const;
  /// The elements of the block that is asked for: where they begin in the data, and how many they are.
  Stretch block(std::uint32_t column) const;
  /// How many columns are asked for.
  std::uint32_t live() const;

 private:
  std::size_t ranks_, map_bytes_;
  std::uint32_t columns_, first_lane_, lanes_;
  std::size_t elements_, length_;
  std::byte* at_;
  std::uint32_t *asked_, *next_;
};

/// Is this the number of a row of the column behind `row`, or no_row?
bool follows(const Slot& slot, std::uint32_t column, std::uint32_t row, std::uint32_t next);

}  // namespace lacuna::block
