#include "algorithms/blocks/slots.hpp"

#include <algorithm>
#include <bit>

#include "kernels/elements.hpp"

namespace lacuna::block {
namespace {

constexpr std::size_t alignment = 64;

/// The most rows of a column.
std::size_t most_rows(const PartView& part) {
  const StreamArguments given = stream_arguments_of(part);
  const kernels::BlockGrid all{.elements = part.count, .length = given.block};
  const std::size_t lanes = std::size_t{given.slots} * given.columns;
  return (all.count() + lanes - 1) / lanes;
}

std::size_t bytes_of_map_of_rows(const PartView& part) {
  return kernels::words_of_map(most_rows(part)) * sizeof(std::uint64_t);
}

std::size_t bytes_of_slot(const PartView& part) {
  const std::size_t columns = stream_arguments_of(part).columns;
  const std::size_t numbers = columns * (1 + static_cast<std::size_t>(part.size));
  const std::size_t bytes = columns * bytes_of_map_of_rows(part) + numbers * sizeof(std::uint32_t);
  return (bytes + alignment - 1) / alignment * alignment;
}

std::size_t bytes_of_slots(const PartView& part) { return stream_arguments_of(part).slots * bytes_of_slot(part); }

}  // namespace

const BufferInfo slots_of_run = {
    .role = Role::Run, .element = Dtype::U8, .capacity = bytes_of_slots, .name = "slots", .memory = MemoryKind::Host};

std::size_t bytes_of_row(const PartView& part) {
  const StreamArguments given = stream_arguments_of(part);
  const std::size_t blocks = kernels::BlockGrid{part.count, given.block}.count();
  return std::min<std::size_t>(given.columns, blocks) *
         (sizeof(std::uint32_t) + given.block * size_of(part.call.dtype));
}

Slot::Slot(const PartView& part, const Write& slots)
    : ranks_(static_cast<std::size_t>(part.size)), map_bytes_(bytes_of_map_of_rows(part)), elements_(part.count) {
  const StreamArguments given = stream_arguments_of(part);
  columns_ = given.columns;
  first_lane_ = given.slot * columns_;
  lanes_ = given.slots * columns_;
  length_ = given.block;
  at_ = slots->data + given.slot * bytes_of_slot(part);
  asked_ = reinterpret_cast<std::uint32_t*>(at_ + columns_ * map_bytes_);
  next_ = asked_ + columns_;
}

kernels::BlockGrid Slot::grid(std::uint32_t column) const {
  return {.elements = elements_,
          .length = length_,
          .first = std::size_t{first_lane_} + column,
          .stride = lanes_,
          .turns = true};
}

bool Slot::has(std::uint32_t column, std::uint32_t row) const {
  return (map(column)[row / 8] >> row % 8 & std::byte{1}) != std::byte{0};
}

std::uint32_t Slot::next_own(std::uint32_t column, std::uint32_t row) const {
  const std::uint32_t end = rows(column);
  for (std::uint64_t skips = row % 64; row < end; row = (row / 64 + 1) * 64, skips = 0) {
    const std::uint64_t word = kernels::load<std::uint64_t>(map(column), row / 64) >> skips;
    if (word != 0) return row + static_cast<std::uint32_t>(std::countr_zero(word));
  }
  return no_row;
}

std::uint32_t Slot::least_next(std::uint32_t column) const {
  const std::uint32_t* const first = next_ + column * ranks_;
  return *std::min_element(first, first + ranks_);
}

Stretch Slot::block(std::uint32_t column) const {
  const kernels::BlockGrid all = grid(column);
  return {all.begin(asked(column)), all.size(asked(column))};
}

std::uint32_t Slot::live() const {
  return static_cast<std::uint32_t>(std::count_if(asked_, asked_ + columns_, [](auto row) { return row != no_row; }));
}

bool follows(const Slot& slot, std::uint32_t column, std::uint32_t row, std::uint32_t next) {
  return next == no_row || (next > row && next < slot.rows(column));
}

}  // namespace lacuna::block
