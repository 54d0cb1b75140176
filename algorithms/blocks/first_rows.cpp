#include <fmt/format.h>

#include <cstring>

#include "algorithms/blocks/rows.hpp"
#include "kernels/elements.hpp"

namespace lacuna::block {
namespace {

using kernels::load;
using kernels::store;

/// The whole buffer of a region.
Region whole(const Region& region) { return GraphBuilder::all_of(region.buffer); }

/// Finds the own blocks of the slot that are not zero, and asks for the first row of each column, or for none yet.
struct LookAtSlot {
  static constexpr std::string_view name = "find blocks";
  Data data;     ///< empty: the position brings none
  Read input{};  ///< is added to the residual
  Write slots;
  bool burst;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::find_time);
    const Slot slot(call.part, slots);
    const Roles roles = roles_of(call.part);
    for (std::uint32_t column = 0; column < slot.columns(); ++column) {
      const kernels::BlockGrid grid = slot.grid(column);
      std::memset(slot.map(column), 0, kernels::words_of_map(grid.count()) * sizeof(std::uint64_t));
      if (!data.is_empty()) find(call, slot, column);
      const std::uint32_t first = burst && grid.count() > 0 ? 0 : no_row;
      slot.asked(column) = first;
      for (Rank rank = 0; rank < roles.size; ++rank) slot.next(column, rank) = roles.brings(rank) ? first : no_row;
    }
    return {};
  }

  void find(const KernelCall& call, const Slot& slot, std::uint32_t column) const {
    const Extent& own = data.of(0);
    const kernels::BlockGrid grid = slot.grid(column);
    if (input) add_input(call, own, grid);
    kernels::Cut cut;
    const double threshold = options_of(call.part.call).threshold;
    if (threshold > 0) cut.above = kernels::magnitude_of(own.dtype, threshold);
    call.backend.find_blocks({own.dtype, own.data, own.count}, grid, threshold > 0 ? &cut : nullptr, slot.map(column));
    count(call, slot, column);
  }

  void add_input(const KernelCall& call, const Extent& residual, const kernels::BlockGrid& grid) const {
    for (std::size_t row = 0; row < grid.count(); ++row) {
      std::byte* const sum = element(residual, grid.begin(row));
      call.backend.reduce(Reduction::Sum, {}, {residual.dtype, sum, grid.size(row)}, sum,
                          element(*input, grid.begin(row)));
    }
  }

  static void count(const KernelCall& call, const Slot& slot, std::uint32_t column) {
    double blocks = 0, elements = 0;
    const kernels::BlockGrid grid = slot.grid(column);
    for (std::uint32_t row = slot.next_own(column, 0); row != no_row; row = slot.next_own(column, row + 1)) {
      ++blocks;
      elements += static_cast<double>(grid.size(row));
    }
    call.measures.tell(measure::sent, blocks);
    call.measures.tell(measure::elements, elements);
  }
};

/// Tells the owner the first own row of each column. If no column has any, the message is empty.
struct TellFirst {
  static constexpr std::string_view name = "tell first";
  Write slots, message;
  Define bytes;

  Status operator()(const KernelCall& call) const {
    const Slot slot(call.part, slots);
    for (std::uint32_t column = 0; column < slot.columns(); ++column) {
      const std::uint32_t first = slot.next_own(column, 0);
      store(message->data, column, first);
      if (first != no_row) *bytes = message->count;
    }
    return {};
  }
};

/// Asks for the first row of each column in which any rank has a block that is not zero.
struct AskForFirst {
  static constexpr std::string_view name = "ask for first";
  Reads messages;  ///< of the others that bring data, by distance before the own position
  Write slots, reply;
  Define bytes;

  Status operator()(const KernelCall& call) const {
    const Slot slot(call.part, slots);
    for (std::uint32_t column = 0; column < slot.columns(); ++column) {
      slot.next(column, call.part.position) = slot.next_own(column, 0);
      for (std::size_t i = 0; i < messages.size(); ++i) {
        const Extent& message = messages[i];
        const Rank from = sender_at(call.part, i);
        if (message.bytes() != 0 && message.bytes() != reply->count) {
          return {Code::Mismatch,
                  fmt::format("rank {} tells first rows in {} bytes, not in {}", from, message.bytes(), reply->count)};
        }
        const std::uint32_t first = message.bytes() == 0 ? no_row : load<std::uint32_t>(message.data, column);
        if (first != no_row && first >= slot.rows(column)) return refuse_row(from, first);
        slot.next(column, from) = first;
      }
      const std::uint32_t first = slot.least_next(column);
      store(reply->data, column, first);
      if (first != no_row) *bytes = reply->count;
    }
    return {};
  }
};

/// Reads which rows are asked for.
struct ReadFirst {
  static constexpr std::string_view name = "read first";
  Read reply;
  Write slots;
  Write output{};  ///< empty: the position gets no result
  Define live;
  Rank owner;
  bool clears;

  Status operator()(const KernelCall& call) const {
    const Slot slot(call.part, slots);
    if (reply->bytes() != 0 && reply->bytes() != slot.columns() * number_bytes) {
      return {Code::Mismatch, fmt::format("rank {} asks for rows in {} bytes, not in {}", owner, reply->bytes(),
                                          slot.columns() * number_bytes)};
    }
    for (std::uint32_t column = 0; column < slot.columns(); ++column) {
      const std::uint32_t first = reply->bytes() == 0 ? no_row : load<std::uint32_t>(reply->data, column);
      if (first != no_row && first >= slot.rows(column)) return refuse_row(owner, first);
      slot.asked(column) = first;
      if (output && clears) clear_rows(call, slot, column, 0, first, output);
    }
    *live = slot.live();
    return {};
  }
};

/// The output of a position that gets the result.
Region output_of(const GraphBuilder& g) { return roles_of(g).gets(g.position()) ? g.output() : Region(); }

}  // namespace

void look_at_slot(GraphBuilder& g, const Region& slots) {
  const StreamForm form = stream_form_of(g);
  g.kernel(LookAtSlot{.data = data_of_slot(g),
                      .input = form.keeps && roles_of(g).brings(g.position()) ? g.input() : Region(),
                      .slots = slots,
                      .burst = form.burst});
}

void ask_for_first(GraphBuilder& g, const Region& slots) {
  const Rank owner = stream_form_of(g).owner;
  const Value live = g.agreed(), bytes = g.value();
  Region reply = GraphBuilder::counted(g.buffer(pointers_of_slot), bytes);
  if (owns(g)) {
    std::vector<Region> messages;
    for (Rank from : senders_of(g)) messages.push_back(g.receive_landed(from, pointers_of_slot));
    g.kernel(AskForFirst{.messages = messages, .slots = slots, .reply = whole(reply), .bytes = bytes});
    for (Rank distance = 1; distance < g.size(); ++distance) g.send(reply, g.position() + distance);
  } else {
    if (roles_of(g).brings(g.position())) {
      g.kernel(TellFirst{.slots = slots, .message = whole(reply), .bytes = bytes});
      g.send(reply, owner);
    }
    reply = g.receive_landed(owner, pointers_of_slot);
  }
  g.kernel(ReadFirst{.reply = reply,
                     .slots = slots,
                     .output = output_of(g),
                     .live = live,
                     .owner = owner,
                     .clears = clears_others(g)});
  g.decide({live});
}

}  // namespace lacuna::block
