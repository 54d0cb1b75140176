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
      take(call, slot, column, message->data + at);
      at += slot.block(column).count * size_of(call.part.call.dtype);
    });
    *bytes = at;
    call.measures.tell(measure::up, static_cast<double>(answered));
    return {};
  }

  /// Writes the block that is asked for, or zeros if it does not travel. What is sent leaves a residual.
  void take(const KernelCall& call, const Slot& slot, std::uint32_t column, std::byte* to) const {
    const Extent& own = data.of(0);
    const Stretch block = slot.block(column);
    if (!slot.has(column, slot.asked(column))) return call.backend.clear({own.dtype, to, block.count});
    std::byte* const from = element(own, block.offset);
    call.backend.copy({}, {own.dtype, to, block.count}, from);
    if (data.is_kept()) call.backend.clear({own.dtype, from, block.count});
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
