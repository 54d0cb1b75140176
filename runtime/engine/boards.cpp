#include "runtime/engine/boards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "runtime/engine/clients.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::runtime {
namespace {

static_assert(Board::row_bytes == board_row_bytes);

constexpr int most_looks = 64;  // at the rows of the others, before a call gets an active part

/// The same elements, where they lie in other memory.
Extent moved(Extent extent, std::byte* data, MemoryKind memory) {
  extent.data = data;
  extent.memory = memory;
  return extent;
}

RowReduction reduction_of(const ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  return {resolve(part, step.from), resolve(part, step.to), scale_of(part, step)};
}

Extent staged(const Extent& extent, const Stage& stage) { return moved(extent, stage.memory, MemoryKind::CudaHost); }

}  // namespace

void Boards::start(ActivePart& part, StepId id) {
  if (!part.run->communicator->board()) throw std::logic_error("the ranks share no board");
  if (!collective_of(part).algorithm->on_board) throw std::logic_error("a part of a method has no turn on the board");
  const RowReduction reduction = reduction_of(part, id);
  const Extent& from = reduction.from;
  if (from.bytes() > Board::row_bytes) {
    throw std::length_error(fmt::format("part {} has {} for a row of the board, which holds {}", part.number,
                                        count_of(from.bytes(), "byte"), Board::row_bytes));
  }
  if (from.memory != MemoryKind::Cuda || from.count == 0) return await_turn({&part, id}, reduction, nullptr);
  Stage& stage = engine_.stages.take(from.bytes());
  engine_.computing.start_work({&part, id}, {.kind = StepKind::Send, .to = staged(from, stage), .from = from},
                               {.stage = &stage});
}

void Boards::end_copy(const Work& work) {
  Stage& stage = *work.holder.stage;
  const auto& [part, id] = work.step;
  if (stage.users++ == 0) return await_turn(work.step, reduction_of(*part, id), &stage);
  engine_.stages.release(stage);
  engine_.steps.complete(*part, id);
}

void Boards::await_turn(const StepOf& step, const RowReduction& reduction, Stage* stage) {
  const CollectiveRun& run = collective_of(*step.part);
  Client& communicator = *run.communicator;
  BoardTurns& turns = *communicator.board();
  turns.add({run.first_turn + step.part->number, step, reduction, stage});
  advance(communicator);
  const bool is_known = std::find(waiting_.begin(), waiting_.end(), &communicator) != waiting_.end();
  if (!turns.empty() && !is_known) waiting_.push_back(&communicator);
}

bool Boards::advance(Client& communicator) {
  BoardTurns& turns = *communicator.board();
  bool moved = false;
  for (const auto* next = turns.to_write(); next; next = turns.to_write()) {
    const Extent& from = next->reduction.from;
    const std::byte* const data = next->stage ? next->stage->memory : from.data;
    if (!write_row(collective_of(*next->step.part), {data, from.bytes()})) break;
    moved = true;
  }
  while (turns.to_read() && turns.are_all_written(turns.to_read()->number)) {
    const BoardTurns::Turn turn = *turns.to_read();
    CollectiveRun& run = collective_of(*turn.step.part);
    if (!agrees(run, turn.number, turn.reduction.from.bytes())) break;
    const Extent& to = turn.reduction.to;
    reduce_rows(run, turn.number, turn.reduction, turn.stage ? staged(to, *turn.stage) : to);
    turns.end_turn();
    moved = true;
    end_reduction(turn);
  }
  if (moved) wake_sleepers(communicator);
  return moved;
}

/// Wakes the members of the board that sleep. An empty message does it too where the doorbell is not heard, as between
/// containers.
void Boards::wake_sleepers(Client& communicator) {
  Board& board = communicator.board()->board();
  for (Rank member : board.take_sleepers()) {
    if (engine_.alarms.doorbell().ring(board.bell_of(member)) || board.has_left(member)) continue;
    engine_.steps.wake_process(communicator.group().process_of(member));
  }
}

bool Boards::advance() {
  bool moved = false;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    Client& communicator = *waiting_[i];
    if (!communicator.board()->can_move() || engine_.failures.is_doomed(communicator)) continue;
    engine_.record.tick();
    engine_.failures.serve(&communicator, [&] { moved = advance(communicator) || moved; });
  }
  std::erase_if(waiting_, [](Client* communicator) { return communicator->board()->empty(); });
  return moved;
}

std::optional<RowReduction> Boards::only_step(const CollectiveRun& run, const ActivePart& part) {
  const auto& steps = part.graph->steps();
  const bool meets_only = steps.size() == 1 && steps[0].meets() && run.call.memory.kind == MemoryKind::Host;
  return meets_only ? std::optional(reduction_of(part, 0)) : std::nullopt;
}

bool Boards::begin_meeting(CollectiveRun& run) const {
  const Extent& from = run.only_step->from;
  return run.communicator->board()->is_next(run.first_turn) && write_row(run, {from.data, from.bytes()});
}

// Members that sleep are woken only after the looks, because they take long to wake.
bool Boards::meet(CollectiveRun& run) {
  BoardTurns& turns = *run.communicator->board();
  const std::uint64_t turn = run.first_turn;
  const RowReduction& step = *run.only_step;
  FlightRecord& record = engine_.record;
  const int looks = engine_.options.spin > Clock::duration::zero() ? most_looks : 1;  // others want the processor
  bool have_come = turns.are_all_written(turn);
  for (int look = 1; !have_come && look < looks; ++look) {
    record.tick();
    have_come = turns.are_all_written(turn);
  }
  const bool meets = have_come && agrees(run, turn, step.from.bytes());
  if (meets) {
    reduce_rows(run, turn, step, step.to);
    turns.pass(turn);
    run.next_part = run.parts_done = run.parts;
  }
  wake_sleepers(*run.communicator);
  return meets;
}

bool Boards::write_row(CollectiveRun& run, std::span<const std::byte> bytes) {
  BoardTurns& turns = *run.communicator->board();
  if (!turns.board().write({.run = run.number, .digest = run.digest}, bytes)) return false;
  run.sent += bytes.size() * static_cast<std::uint64_t>(turns.board().members() - 1);
  turns.bytes().written += bytes.size();
  return true;
}

/// Have all other members written a row of so many bytes for the same call in this turn? If not, that is reported.
bool Boards::agrees(const CollectiveRun& run, std::uint64_t turn, std::size_t bytes) {
  Client& communicator = *run.communicator;
  const Board& board = communicator.board()->board();
  const Board::Note own{.run = run.number, .digest = run.digest};
  for (Rank member = 0; member < board.members(); ++member) {
    if (member == communicator.rank()) continue;
    const Board::Row row = board.row(member, turn);
    if (row.note == own && row.bytes.size() == bytes) continue;
    const Rank process = communicator.group().process_of(member);
    engine_.failures.report(communicator, Trouble::Kind::Mismatch, run.number,
                            communicator.matching().text_of_difference(process, run.number));
    return false;
  }
  return true;
}

/// Reduces the rows in the order of the ranks, so that all ranks get the same bits.
void Boards::reduce_rows(CollectiveRun& run, std::uint64_t turn, const RowReduction& reduction,
                         const Extent& to) const {
  BoardTurns& turns = *run.communicator->board();
  const Board& board = turns.board();
  const Extent& from = reduction.from;
  const auto row = [&](Rank member) {
    return moved(from, const_cast<std::byte*>(board.row(member, turn).bytes.data()), MemoryKind::Host);
  };
  run.received += from.bytes() * static_cast<std::uint64_t>(board.members() - 1);
  turns.bytes().read += from.bytes();
  if (to.count == 0) return;
  if (board.members() == 1) {
    return carry_out(engine_.kernels, {.kind = StepKind::Copy, .scale = reduction.scale, .to = to, .from = row(0)});
  }
  for (Rank member = 1; member < board.members(); ++member) {
    carry_out(engine_.kernels, {.kind = StepKind::ReceiveReduce,
                                .scale = {.first = member == 1 ? reduction.scale.first : 1,
                                          .second = reduction.scale.second,
                                          .sum = member + 1 == board.members() ? reduction.scale.sum : Scale()},
                                .to = to,
                                .from = row(member),
                                .local = member == 1 ? row(0) : to,
                                .own = run.call.own});
  }
}

/// The sums of this turn lie in the output, or in the stage of the step.
void Boards::end_reduction(const BoardTurns::Turn& turn) {
  if (!turn.stage) return engine_.steps.complete(*turn.step.part, turn.step.step);
  engine_.computing.start_work(
      turn.step, {.kind = StepKind::Receive, .to = turn.reduction.to, .from = staged(turn.reduction.to, *turn.stage)},
      {.stage = turn.stage});
}

bool Boards::may_sleep() const {
  return std::all_of(waiting_.begin(), waiting_.end(), [](Client* one) { return one->board()->may_sleep(); });
}

void Boards::remove_if(const std::function<bool(const Run& run)>& belongs) {
  for (Client* communicator : waiting_) {
    communicator->board()->remove_if([&](const BoardTurns::Turn& turn) {
      if (!belongs(*turn.step.part->run)) return false;
      if (turn.stage) engine_.stages.release(*turn.stage);
      return true;
    });
  }
}

void Boards::retire(Client& communicator) {
  std::erase(waiting_, &communicator);
  if (!communicator.board()) return;
  for (Rank process : communicator.group().members()) {
    left_rows_[static_cast<std::size_t>(process)] += communicator.board()->bytes();
  }
}

RowBytes Boards::bytes_with(Rank process, const Clients& communicators) const {
  RowBytes rows = left_rows_[static_cast<std::size_t>(process)];
  for (const Client* communicator : communicators) {
    const bool is_shared = communicator->board() && communicator->group().rank_of(process) >= 0;
    if (is_shared) rows += communicator->board()->bytes();
  }
  return rows;
}

}  // namespace lacuna::runtime
