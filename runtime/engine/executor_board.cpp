#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/values/count_of.hpp"

// Steps that reduce on a board. Each writes its row as soon as there is room, and reads the rows of its turn once all
// members have written them.
namespace lacuna::runtime {
namespace {

static_assert(Board::row_bytes == board_row_bytes);

/// The same elements, where they lie in other memory.
Extent moved(Extent extent, std::byte* data, MemoryKind memory) {
  extent.data = data;
  extent.memory = memory;
  return extent;
}

Extent staged(const Extent& extent, const Stage& stage) { return moved(extent, stage.memory, MemoryKind::CudaHost); }

}  // namespace

void Executor::start_board_reduce(ActivePart& part, StepId id) {
  if (!part.run->communicator->board()) throw std::logic_error("the ranks share no board");
  if (!collective_of(part).algorithm->on_board) throw std::logic_error("a part of a method has no turn on the board");
  const Extent from = resolve(part, part.graph->steps()[id].from);
  if (from.bytes() > Board::row_bytes) {
    throw std::length_error(fmt::format("part {} has {} for a row of the board, which holds {}", part.number,
                                        count_of(from.bytes(), "byte"), Board::row_bytes));
  }
  if (from.memory != MemoryKind::Cuda || from.count == 0) return await_turn({&part, id}, from, nullptr);
  Stage& stage = *stages_.take();
  stage = {.memory = memory_.of(MemoryKind::CudaHost).take(from.bytes()), .bytes = from.bytes()};
  tally_.staged_bytes += from.bytes();
  start_work({&part, id}, {.kind = StepKind::Send, .to = staged(from, stage), .from = from}, {.stage = &stage});
}

/// A copy between the device and the stage of a step has ended: first the one to the stage, at last the one from there.
void Executor::end_board_copy(const Work& work) {
  Stage& stage = *work.holder.stage;
  const auto& [part, id] = work.step;
  if (stage.users++ == 0) return await_turn(work.step, resolve(*part, part->graph->steps()[id].from), &stage);
  release_stage(stage);
  complete(*part, id);
}

void Executor::await_turn(const StepOf& step, const Extent& from, Stage* stage) {
  const ActivePart& part = *step.part;
  Client& communicator = *part.run->communicator;
  BoardTurns& turns = *communicator.board();
  const Extent to = resolve(part, part.graph->steps()[step.step].to);
  turns.add({collective_of(part).first_turn + part.number, step, from, to, stage});
  advance_board(communicator);
  const bool is_known = std::find(boards_.begin(), boards_.end(), &communicator) != boards_.end();
  if (!turns.empty() && !is_known) boards_.push_back(&communicator);
}

/// Writes and reads the rows that can be. Returns true if there were any.
bool Executor::advance_board(Client& communicator) {
  BoardTurns& turns = *communicator.board();
  bool moved = false;
  for (const auto* next = turns.to_write(); next && write_row(turns.board(), *next); next = turns.to_write()) {
    moved = true;
  }
  while (turns.to_read() && turns.are_all_written()) {
    const BoardTurns::Turn turn = *turns.to_read();
    if (!agrees(*turn.step.part, turns.board(), turn.number)) break;
    reduce_rows(turns.board(), turn);
    turns.end_turn();
    moved = true;
    end_reduction(turn);
  }
  if (!moved) return false;
  for (Rank member : turns.board().take_sleepers()) wake_member(communicator, member);
  return true;
}

/// Wakes a member of the board. An empty message does it too where the doorbell is not heard, as between containers.
void Executor::wake_member(const Client& communicator, Rank member) {
  const Board& board = communicator.board()->board();
  if (alarms_.doorbell().ring(board.bell_of(member)) || board.has_left(member)) return;
  send_credit(communicator.group().process_of(member));
}

bool Executor::advance_boards() {
  bool moved = false;
  for (std::size_t i = 0; i < boards_.size(); ++i) {
    Client& communicator = *boards_[i];
    if (!communicator.board()->can_move() || is_doomed(communicator)) continue;
    record_.tick();
    serving_ = &communicator;
    guarded([&] { moved = advance_board(communicator) || moved; });
  }
  std::erase_if(boards_, [](Client* communicator) { return communicator->board()->empty(); });
  return moved;
}

bool Executor::write_row(Board& board, const BoardTurns::Turn& turn) {
  const ActivePart& part = *turn.step.part;
  const std::size_t bytes = turn.from.bytes();
  const Board::Note note{.run = collective_of(part).number, .digest = part.digest};
  if (!board.write(note, {turn.stage ? turn.stage->memory : turn.from.data, bytes})) return false;
  part.run->sent += bytes * static_cast<std::uint64_t>(board.members() - 1);
  part.run->communicator->board()->bytes().written += bytes;
  return true;
}

/// Has everyone written this turn for the same call? If not, it is reported.
bool Executor::agrees(const ActivePart& part, const Board& board, std::uint64_t turn) {
  const CollectiveRun& run = collective_of(part);
  const Board::Row own = board.row(run.communicator->rank(), turn);
  for (Rank member = 0; member < board.members(); ++member) {
    const Board::Row row = board.row(member, turn);
    if (row.note == own.note && row.bytes.size() == own.bytes.size()) continue;
    Client& communicator = *run.communicator;
    const Rank process = communicator.group().process_of(member);
    trouble(communicator, Trouble::Kind::Mismatch, run.number,
            communicator.matching().text_of_difference(process, run.number));
    return false;
  }
  return true;
}

/// Reduces the rows in the order of the ranks, so that all ranks get the same bits.
void Executor::reduce_rows(const Board& board, const BoardTurns::Turn& turn) {
  const ActivePart& part = *turn.step.part;
  const Extent& from = turn.from;
  const Extent to = turn.stage ? staged(turn.to, *turn.stage) : turn.to;
  const auto row = [&](Rank member) {
    return moved(from, const_cast<std::byte*>(board.row(member, turn.number).bytes.data()), MemoryKind::Host);
  };
  const Scale scale = scale_of(part, part.graph->steps()[turn.step.step]);
  part.run->received += from.bytes() * static_cast<std::uint64_t>(board.members() - 1);
  part.run->communicator->board()->bytes().read += from.bytes();
  if (to.count == 0) return;
  if (board.members() == 1) {
    return carry_out(kernels_, {.kind = StepKind::Copy, .scale = scale, .to = to, .from = row(0)});
  }
  for (Rank member = 1; member < board.members(); ++member) {
    carry_out(kernels_, {.kind = StepKind::ReceiveReduce,
                         .scale = member + 1 == board.members() ? scale : Scale(),
                         .to = to,
                         .from = row(member),
                         .local = member == 1 ? row(0) : to,
                         .own = part.run->call.own});
  }
}

/// The sums of this turn lie in the output, or in the stage of the step.
void Executor::end_reduction(const BoardTurns::Turn& turn) {
  if (!turn.stage) return complete(*turn.step.part, turn.step.step);
  start_work(turn.step, {.kind = StepKind::Receive, .to = turn.to, .from = staged(turn.to, *turn.stage)},
             {.stage = turn.stage});
}

}  // namespace lacuna::runtime
