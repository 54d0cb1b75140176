#include <algorithm>
#include <new>

#include "algorithms/blocks/rows.hpp"
#include "kernels/elements.hpp"

namespace lacuna::block {
namespace {

std::size_t bytes_from_ranks(const PartView& part) { return static_cast<std::size_t>(part.size) * bytes_of_row(part); }

/// A set of one block, and a set of none. They lie in a table, because a device does not reach a program's constants.
struct Sets {
  std::uint32_t one_ranks[2] = {0, 1}, no_ranks[2] = {0, 0};
  std::uint64_t one_map = 1, no_map = 0;

  kernels::BlockSet one() const { return {reinterpret_cast<const std::byte*>(&one_map), one_ranks}; }
  kernels::BlockSet none() const { return {reinterpret_cast<const std::byte*>(&no_map), no_ranks}; }
};

std::size_t bytes_of_row_sources(const PartView& part) {
  const std::size_t sources = static_cast<std::size_t>(part.size) * stream_arguments_of(part).columns;
  return sizeof(Sets) + sources * sizeof(kernels::BlockSource);
}

constexpr BufferInfo blocks_from_ranks = {.element = Dtype::U8, .capacity = bytes_from_ranks};
constexpr BufferInfo sources_of_blocks = {
    .element = Dtype::U8, .capacity = bytes_of_row_sources, .memory = MemoryKind::Host};

/// Calls visit(column) for the columns that are asked for and in which a rank has the block.
template <class Visit>
void each_answered(const Slot& slot, Rank rank, const Visit& visit) {
  for (std::uint32_t column = 0; column < slot.columns(); ++column) {
    if (slot.asked(column) != no_row && slot.next(column, rank) == slot.asked(column)) visit(column);
  }
}

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
    const Sets& sets = *new (sources->data) Sets();
    auto* const all = reinterpret_cast<kernels::BlockSource*>(sources->data + sizeof(Sets));
    const std::size_t ranks = terms_of(part);
    std::fill_n(all, slot.columns() * ranks, kernels::BlockSource{.set = sets.none()});
    take_own(part, slot, sets, all);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (Status read = take(call, slot, i, sets, all); !read) return read;
    }
    auto* const numbers = reinterpret_cast<std::uint32_t*>(pointers->data);
    std::size_t live = 0, at = slot.live() * number_bytes;
    for (std::uint32_t column = 0; column < slot.columns(); ++column) {
      if (slot.asked(column) == no_row) continue;
      const Stretch block = slot.block(column);
      reduce(call, {all + column * ranks, ranks}, block.count, sets, result->data + at);
      at += block.count * size_of(part.call.dtype);
      numbers[live++] = slot.least_next(column);
      forget_own(call, slot, column);
    }
    call.backend.copy_bytes(pointers->data, live * number_bytes, result->data);
    return {};
  }

  /// The ranks that have terms are the first ones.
  static std::size_t terms_of(const PartView& part) { return static_cast<std::size_t>(roles_of(part).terms()); }

  /// Takes the own blocks. With a burst, those that do not travel are asked for too, and count as zeros.
  void take_own(const PartView& part, const Slot& slot, const Sets& sets, kernels::BlockSource* all) const {
    each_answered(slot, part.position, [&](std::uint32_t column) {
      if (!slot.has(column, slot.asked(column))) return;
      const std::size_t i = column * terms_of(part) + static_cast<std::size_t>(part.position);
      all[i] = {.set = sets.one(), .data = element(data.of(0), slot.block(column).offset)};
    });
    each_answered(slot, part.position, [&](std::uint32_t column) {
      slot.next(column, part.position) = slot.next_own(column, slot.asked(column) + 1);
    });
  }

  /// Takes the blocks of answer number i.
  Status take(const KernelCall& call, const Slot& slot, std::size_t i, const Sets& sets,
              kernels::BlockSource* all) const {
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
      if (!follows(slot, column, slot.asked(column), numbers[n])) return refuse_row(rank, numbers[n]);
      all[column * terms_of(part) + static_cast<std::size_t>(rank)] = {.set = sets.one(), .data = answer.data + at};
      at += slot.block(column).count * size_of(part.call.dtype);
      slot.next(column, rank) = numbers[n];
    }
    return {};
  }

  static void reduce(const KernelCall& call, std::span<const kernels::BlockSource> from, std::size_t count,
                     const Sets& sets, std::byte* to) {
    const SumScale scale = scale_of(call.part);
    call.backend.reduce_blocks(from, {.reduction = call.part.call.reduction,
                                      .scale = scale.sum,
                                      .dtype = call.part.call.dtype,
                                      .grid = {.elements = count, .length = count},
                                      .result = sets.one(),
                                      .out = to,
                                      .term = scale.second});
  }

  /// What was sent leaves a residual.
  void forget_own(const KernelCall& call, const Slot& slot, std::uint32_t column) const {
    if (!data.is_kept() || !slot.has(column, slot.asked(column))) return;
    const Stretch block = slot.block(column);
    const Extent& own = data.of(0);
    call.backend.clear({own.dtype, element(own, block.offset), block.count});
  }
};

}  // namespace

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

}  // namespace lacuna::block
