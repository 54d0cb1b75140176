#include "algorithms/blocks/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/phases/feedback.hpp"
#include "kernels/elements.hpp"

namespace lacuna::block {
namespace {

using kernels::load;

std::size_t bytes_of_pointers(const PartView& part) { return stream_arguments_of(part).columns * number_bytes; }

/// The bytes of a result: for each column that was asked for, the block and the number of the row that comes next.
std::size_t bytes_of_result(const PartView& part, const Slot& slot) {
  std::size_t bytes = 0;
  for (std::uint32_t column = 0; column < slot.columns(); ++column) {
    if (slot.asked(column) != no_row) bytes += number_bytes + slot.block(column).count * size_of(part.call.dtype);
  }
  return bytes;
}

struct ExpectResult {
  static constexpr std::string_view name = "expect result";
  Write slots;
  Define bytes, pointers;  ///< of the whole result, and of the numbers of rows

  Status operator()(const KernelCall& call) const {
    const Slot slot(call.part, slots);
    *bytes = bytes_of_result(call.part, slot);
    *pointers = slot.live() * number_bytes;
    return {};
  }
};

/// Writes the result of the row to the output, and asks for the rows that come next.
struct PlaceRow {
  static constexpr std::string_view name = "place blocks";
  Read result;
  Write slots, output;
  Define live;
  Rank owner;
  bool clears;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::place_time);
    const Slot slot(call.part, slots);
    std::uint32_t numbers[most_columns];
    const std::size_t count = slot.live();
    call.backend.copy_bytes(result->data, count * number_bytes, reinterpret_cast<std::byte*>(numbers));
    std::size_t i = 0, at = count * number_bytes;
    for (std::uint32_t column = 0; column < slot.columns(); ++column) {
      const std::uint32_t row = slot.asked(column);
      if (row == no_row) continue;
      const std::uint32_t next = numbers[i++];
      if (!follows(slot, column, row, next)) return refuse_row(owner, next);
      const Stretch block = slot.block(column);
      const std::size_t bytes = block.count * size_of(output->dtype);
      call.backend.copy({}, {output->dtype, element(*output, block.offset), block.count}, result->data + at);
      at += bytes;
      call.measures.tell(measure::result_elements, static_cast<double>(block.count));
      if (clears) clear_rows(call, slot, column, row + 1, next, output);
      slot.asked(column) = next;
    }
    call.measures.tell(measure::result, static_cast<double>(count));
    *live = slot.live();
    return {};
  }
};

/// Asks for the rows that come next. Positions that get no result do only this.
struct FollowRow {
  static constexpr std::string_view name = "follow";
  Read pointers;
  Write slots;
  Define live;
  Rank owner;

  Status operator()(const KernelCall& call) const {
    const Slot slot(call.part, slots);
    std::size_t i = 0;
    for (std::uint32_t column = 0; column < slot.columns(); ++column) {
      const std::uint32_t row = slot.asked(column);
      if (row == no_row) continue;
      const auto next = load<std::uint32_t>(pointers->data, i++);
      if (!follows(slot, column, row, next)) return refuse_row(owner, next);
      slot.asked(column) = next;
    }
    *live = slot.live();
    return {};
  }
};

}  // namespace

const BufferInfo pointers_of_slot = {.element = Dtype::U8, .capacity = bytes_of_pointers, .memory = MemoryKind::Host};
const BufferInfo blocks_of_slot = {.element = Dtype::U8, .capacity = bytes_of_row};

Data data_of_slot(GraphBuilder& g) {
  if (!roles_of(g).brings(g.position())) return {};
  if (!form_of(g).keeps) return {.read = std::vector{g.input()}};
  return {.kept = std::vector{g.buffer({.role = Role::State, .name = residual_array})}};
}

std::vector<Rank> senders_of(const GraphBuilder& g) {
  std::vector<Rank> senders;
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const Rank from = position_at(g.position(), -distance, g.size());
    if (roles_of(g).brings(from)) senders.push_back(from);
  }
  return senders;
}

Rank sender_at(const PartView& part, std::size_t i) {
  const Roles roles = roles_of(part);
  Rank distance = 0;
  for (std::size_t passed = 0; passed <= i;) {
    passed += roles.brings(position_at(part.position, -++distance, part.size)) ? 1 : 0;
  }
  return position_at(part.position, -distance, part.size);
}

void clear_rows(const KernelCall& call, const Slot& slot, std::uint32_t column, std::uint32_t begin, std::uint32_t end,
                const Write& output) {
  const kernels::BlockGrid grid = slot.grid(column);
  for (std::uint32_t row = begin; row < std::min(end, slot.rows(column)); ++row) {
    call.backend.clear({output->dtype, element(*output, grid.begin(row)), grid.size(row)});
  }
}

Status refuse_row(Rank from, std::uint32_t row) {
  return {Code::Mismatch, fmt::format("rank {} says that row {} comes next, which does not follow", from, row)};
}

Row expect_row(GraphBuilder& g, const Region& slots) {
  const Value bytes = g.agreed(), pointers = g.agreed();
  g.kernel(ExpectResult{.slots = slots, .bytes = bytes, .pointers = pointers});
  return {GraphBuilder::counted(g.buffer(blocks_of_slot), bytes),
          GraphBuilder::counted(g.buffer(pointers_of_slot), pointers)};
}

void place_row(GraphBuilder& g, const Region& slots, const Row& row) {
  const Rank owner = stream_form_of(g).owner;
  const Value live = g.agreed();
  if (roles_of(g).gets(g.position())) {
    g.kernel(PlaceRow{.result = row.result,
                      .slots = slots,
                      .output = g.output(),
                      .live = live,
                      .owner = owner,
                      .clears = clears_others(g)});
  } else {
    g.kernel(FollowRow{.pointers = row.pointers, .slots = slots, .live = live, .owner = owner});
  }
  g.decide({live});
}

}  // namespace lacuna::block
