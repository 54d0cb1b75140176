#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "algorithms/blocks/slots.hpp"
#include "algorithms/phases/feedback.hpp"
#include "kernels/elements.hpp"

namespace lacuna::block {
namespace {

using kernels::load;
using kernels::store;

constexpr std::size_t number_bytes = sizeof(std::uint32_t);
constexpr std::size_t most_columns = 64;

std::byte* element(const Extent& of, std::size_t i) { return of.data + i * size_of(of.dtype); }
std::size_t bytes_of_pointers(const PartView& part) { return stream_arguments_of(part).columns * number_bytes; }
std::size_t bytes_from_ranks(const PartView& part) { return static_cast<std::size_t>(part.size) * bytes_of_row(part); }
std::size_t bytes_of_sources(const PartView& part) {
  return static_cast<std::size_t>(part.size) * stream_arguments_of(part).columns * sizeof(kernels::BlockSource);
}

constexpr BufferInfo pointers_of_slot = {
    .element = Dtype::U8, .capacity = bytes_of_pointers, .memory = MemoryKind::Host};
constexpr BufferInfo blocks_of_slot = {.element = Dtype::U8, .capacity = bytes_of_row};
constexpr BufferInfo blocks_from_ranks = {.element = Dtype::U8, .capacity = bytes_from_ranks};
constexpr BufferInfo sources_of_blocks = {
    .element = Dtype::U8, .capacity = bytes_of_sources, .memory = MemoryKind::Host};

/// The whole buffer of a region.
Region whole(const Region& region) { return GraphBuilder::all_of(region.buffer); }

Status refuse(Rank from, std::uint32_t next) {
  return {Code::Mismatch, fmt::format("rank {} says that row {} comes next, which does not follow", from, next)};
}

/// Writes zeros to the rows [begin, end) of a column of the output.
void clear_rows(const KernelCall& call, const Slot& slot, std::uint32_t column, std::uint32_t begin, std::uint32_t end,
                const Write& output) {
  const kernels::BlockGrid grid = slot.grid(column);
  for (std::uint32_t row = begin; row < std::min(end, slot.rows(column)); ++row) {
    call.backend.clear({output->dtype, element(*output, grid.begin(row)), grid.size(row)});
  }
}

/// The own data: the input, or the residual, to which each slot adds its blocks of the input when it begins. Positions
/// that bring none have none.
Data data_of_slot(GraphBuilder& g) {
  if (!roles_of(g).brings(g.position())) return {};
  if (!form_of(g).keeps) return {.read = std::vector{g.input()}};
  return {.kept = std::vector{g.buffer({.role = Role::State, .name = residual_array})}};
}

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

/// The position that sends number i of the messages that come from the others that bring data.
Rank sender_at(const PartView& part, std::size_t i) {
  const Roles roles = roles_of(part);
  Rank distance = 0;
  for (std::size_t passed = 0; passed <= i;) {
    passed += roles.brings(position_at(part.position, -++distance, part.size)) ? 1 : 0;
  }
  return position_at(part.position, -distance, part.size);
}

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
        if (first != no_row && first >= slot.rows(column)) return refuse(from, first);
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
      if (first != no_row && first >= slot.rows(column)) return refuse(owner, first);
      slot.asked(column) = first;
      if (output && clears) clear_rows(call, slot, column, 0, first, output);
    }
    *live = slot.live();
    return {};
  }
};

/// Calls visit(column) for the columns that are asked for and in which a rank has the block.
template <class Visit>
void each_answered(const Slot& slot, Rank rank, const Visit& visit) {
  for (std::uint32_t column = 0; column < slot.columns(); ++column) {
    if (slot.asked(column) != no_row && slot.next(column, rank) == slot.asked(column)) visit(column);
  }
}

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

/// Says how long the answers of the other ranks are, and where each lies.
struct ExpectAnswers {
  static constexpr std::string_view name = "expect answers";
  Write slots;
  Defines offsets, bytes;  ///< for the others that bring data, by distance before the own position

  Status operator()(const KernelCall& call) const {
    const PartView& part = call.part;
    const Slot slot(part, slots);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const Rank from = sender_at(part, i);
      offsets[i] = i * bytes_of_row(part);
      each_answered(slot, from, [&](std::uint32_t column) {
        bytes[i] += number_bytes + slot.block(column).count * size_of(part.call.dtype);
      });
    }
    return {};
  }
};

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

// A set of one block, and of none.
constexpr std::byte one_block_map[] = {std::byte{1}}, no_block_map[] = {std::byte{0}};
constexpr std::uint32_t one_block_ranks[] = {0, 1}, no_block_ranks[] = {0, 0};
constexpr kernels::BlockSet one_block = {one_block_map, one_block_ranks}, no_block = {no_block_map, no_block_ranks};

/// Reduces the blocks that were asked for in the order of the ranks, and finds the rows that come next.
struct ReduceRow {
  static constexpr std::string_view name = "reduce blocks";
  Data data;
  Write slots;
  Reads answers;  ///< of the others that bring data, by distance before the own position
  Write sources, result;
  Write pointers;  ///< the numbers of the rows that come next

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::reduce_time);
    const PartView& part = call.part;
    const Slot slot(part, slots);
    auto* const all = reinterpret_cast<kernels::BlockSource*>(sources->data);
    const std::size_t ranks = terms_of(part);
    std::fill_n(all, slot.columns() * ranks, kernels::BlockSource{.set = no_block});
    take_own(part, slot, all);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (Status read = take(call, slot, i, all); !read) return read;
    }
    auto* const numbers = reinterpret_cast<std::uint32_t*>(pointers->data);
    std::size_t live = 0, at = slot.live() * number_bytes;
    for (std::uint32_t column = 0; column < slot.columns(); ++column) {
      if (slot.asked(column) == no_row) continue;
      const Stretch block = slot.block(column);
      reduce(call, {all + column * ranks, ranks}, block.count, result->data + at);
      at += block.count * size_of(part.call.dtype);
      numbers[live++] = slot.least_next(column);
      forget_own(call, slot, column);
    }
    call.backend.copy_bytes(pointers->data, live * number_bytes, result->data);
    return {};
  }

  /// The ranks that have terms are the first ones.
  static std::size_t terms_of(const PartView& part) { return static_cast<std::size_t>(roles_of(part).terms()); }

  /// Takes the own blocks.
  void take_own(const PartView& part, const Slot& slot, kernels::BlockSource* all) const {
    each_answered(slot, part.position, [&](std::uint32_t column) {
      const std::size_t i = column * terms_of(part) + static_cast<std::size_t>(part.position);
      all[i] = {.set = one_block, .data = element(data.of(0), slot.block(column).offset)};
    });
    each_answered(slot, part.position, [&](std::uint32_t column) {
      slot.next(column, part.position) = slot.next_own(column, slot.asked(column) + 1);
    });
  }

  /// Takes the blocks of answer number i.
  Status take(const KernelCall& call, const Slot& slot, std::size_t i, kernels::BlockSource* all) const {
    const PartView& part = call.part;
    const Rank rank = sender_at(part, i);
    const Extent& answer = answers[i];
    std::uint32_t columns[most_columns], numbers[most_columns];
    std::size_t answered = 0;
    each_answered(slot, rank, [&](std::uint32_t column) { columns[answered++] = column; });
    call.backend.copy_bytes(answer.data, answered * number_bytes, reinterpret_cast<std::byte*>(numbers));
    std::size_t at = answered * number_bytes;
    for (std::size_t n = 0; n < answered; ++n) {
      const std::uint32_t column = columns[n];
      if (!follows(slot, column, slot.asked(column), numbers[n])) return refuse(rank, numbers[n]);
      all[column * terms_of(part) + static_cast<std::size_t>(rank)] = {.set = one_block, .data = answer.data + at};
      at += slot.block(column).count * size_of(part.call.dtype);
      slot.next(column, rank) = numbers[n];
    }
    return {};
  }

  static void reduce(const KernelCall& call, std::span<const kernels::BlockSource> from, std::size_t count,
                     std::byte* to) {
    call.backend.reduce_blocks(from, {.reduction = call.part.call.reduction,
                                      .scale = scale_of(call.part),
                                      .dtype = call.part.call.dtype,
                                      .grid = {.elements = count, .length = count},
                                      .result = one_block,
                                      .out = to});
  }

  /// What was sent leaves a residual.
  void forget_own(const KernelCall& call, const Slot& slot, std::uint32_t column) const {
    if (!data.is_kept() || !slot.has(column, slot.asked(column))) return;
    const Stretch block = slot.block(column);
    const Extent& own = data.of(0);
    call.backend.clear({own.dtype, element(own, block.offset), block.count});
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
      if (!follows(slot, column, row, next)) return refuse(owner, next);
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
      if (!follows(slot, column, row, next)) return refuse(owner, next);
      slot.asked(column) = next;
    }
    *live = slot.live();
    return {};
  }
};

bool owns(const GraphBuilder& g) { return g.position() == stream_form_of(g).owner; }

/// The other positions that bring data, by distance before the own position.
std::vector<Rank> senders_of(const GraphBuilder& g) {
  std::vector<Rank> senders;
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const Rank from = position_at(g.position(), -distance, g.size());
    if (roles_of(g).brings(from)) senders.push_back(from);
  }
  return senders;
}

/// The output of a position that gets the result.
Region output_of(const GraphBuilder& g) { return roles_of(g).gets(g.position()) ? g.output() : Region(); }

/// All positions tell the owner of the slot where their first blocks are, and the owner tells all where the first block
/// of each column is.
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

/// The result of a row, and the part of it that says which rows come next.
struct Row {
  Region result, pointers;
};

/// The owner gets the blocks that it has asked for, and reduces them.
void collect_row(GraphBuilder& g, const Region& slots, const Row& row) {
  const Region room = g.buffer(blocks_from_ranks);
  const std::vector<Rank> senders = senders_of(g);
  std::vector<Value> offsets, bytes;
  std::vector<Region> answers;
  for (Rank from : senders) {
    offsets.push_back(g.value());
    bytes.push_back(g.paired(from, g.position()));
    answers.push_back(GraphBuilder::counted(room, bytes.back(), offsets.back()));
  }
  g.kernel(ExpectAnswers{.slots = slots, .offsets = offsets, .bytes = bytes});
  if (!answers.empty()) answers = g.disjoint(answers);
  for (std::size_t i = 0; i < senders.size(); ++i) g.receive(answers[i], senders[i]);
  g.kernel(ReduceRow{.data = data_of_slot(g),
                     .slots = slots,
                     .answers = answers,
                     .sources = g.buffer(sources_of_blocks),
                     .result = row.result,
                     .pointers = row.pointers});
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const Rank to = position_at(g.position(), distance, g.size());
    g.send(roles_of(g).gets(to) ? row.result : row.pointers, to);
  }
}

/// Another position sends the blocks that it has of those that are asked for, and gets the result.
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

void reduce_row(GraphBuilder& g, const Region& slots) {
  const Rank owner = stream_form_of(g).owner;
  const Value bytes = g.agreed(), pointers = g.agreed(), live = g.agreed();
  const Row row{GraphBuilder::counted(g.buffer(blocks_of_slot), bytes),
                GraphBuilder::counted(g.buffer(pointers_of_slot), pointers)};
  g.kernel(ExpectResult{.slots = slots, .bytes = bytes, .pointers = pointers});
  if (owns(g)) {
    collect_row(g, slots, row);
  } else {
    answer_row(g, slots, row);
  }
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

/// A part of a slot: the first one, or one that follows.
void build(GraphBuilder& g) {
  const StreamForm form = stream_form_of(g);
  const Region slots = g.buffer(slots_of_run);
  if (form.begins) {
    g.kernel(LookAtSlot{
        .data = data_of_slot(g), .input = form.keeps ? g.input() : Region(), .slots = slots, .burst = form.burst});
  }
  if (form.begins && !form.burst) return ask_for_first(g, slots);
  reduce_row(g, slots);
}

}  // namespace

// The blocks stand in rows, which slots share. Each slot has an owner, and its columns move from row to row on their
// own. First, all ranks tell the owner where their first block is that is not zero. The owner asks for the first row in
// which any rank has one. Each rank that has this block sends it, and says with it which of its blocks comes next, so
// that the owner knows who will answer next time. The result is the question for the next row. A slot has one message
// on its way at a time, and all slots work at the same time. If U blocks of a slot are not zero at any rank, it takes
// 2 + 2U rounds, and fewer if it has several columns. Each rank sends and receives about (P-1)/P (D + D_U) of the
// data's bytes, as in planned.cpp, and 4 bytes for each block. With `burst` all ranks send their first row at once,
// whatever it holds. Source: Fei, Ho, Sahu, Canini, Sapio: OmniReduce (SIGCOMM 2021), and its released code, which
// begins with a burst.
constexpr Algorithm streamed_allreduce = {
    .collective = Collective::Allreduce,
    .name = "streamed_blocks",
    .symmetric = false,
    .build = build,
    .parameters = &parameter_set<StreamForm>,
};

}  // namespace lacuna::block
