#include "algorithms/blocks/rows.hpp"
#include "kernels/elements.hpp"

namespace lacuna::block {
namespace {

/// Writes the own blocks that are asked for, with the number of the own row that comes next in each column.
struct AnswerRow {
  static constexpr std::string_view name = "pack blocks";
  Data data;
  Write slots, message;
  Define bytes;
  bool burst;  ///< also blocks that are zero

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::pack_time);
    const Slot slot(call.part, slots);
    const Extent& own = data.of(0);
    std::uint32_t numbers[most_columns];
    std::size_t answered = 0, at = 0;
    const auto each = [&](const auto& visit) {
      for (std::uint32_t column = 0; column < slot.columns(); ++column) {
        const std::uint32_t row = slot.asked(column);
        if (row != no_row && (burst || slot.has(column, row))) visit(column);
      }
    };
    each([&](std::uint32_t column) { numbers[answered++] = slot.next_own(column, slot.asked(column) + 1); });
    call.backend.copy_bytes(reinterpret_cast<const std::byte*>(numbers), answered * number_bytes, message->data);
    at = answered * number_bytes;
    each([&](std::uint32_t column) {
      const Stretch block = slot.block(column);
      std::byte* const from = element(own, block.offset);
      call.backend.copy({}, {own.dtype, message->data + at, block.count}, from);
      at += block.count * size_of(own.dtype);
      if (data.is_kept() && slot.has(column, slot.asked(column))) call.backend.clear({own.dtype, from, block.count});
    });
    *bytes = at;
    call.measures.tell(measure::up, static_cast<double>(answered));
    return {};
  }
};

}  // namespace

void answer_row(GraphBuilder& g, const Region& slots, const Row& row) {
  const StreamForm form = stream_form_of(g);
  const Roles roles = roles_of(g);
  if (roles.brings(g.position())) {
    const Value bytes = g.paired(g.position(), form.owner);
    const Region room = g.buffer(blocks_of_slot);
    g.kernel(AnswerRow{.data = data_of_slot(g), .slots = slots, .message = room, .bytes = bytes, .burst = form.begins});
    g.send(GraphBuilder::counted(room, bytes), form.owner);
  }
  g.receive(roles.gets(g.position()) ? row.result : row.pointers, form.owner);
}

}  // namespace lacuna::block
