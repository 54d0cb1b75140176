#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/engine/link.hpp"
#include "transports/board.hpp"

namespace lacuna::runtime {

/// How many bytes of rows a member has moved.
struct RowBytes {
  std::uint64_t written = 0;  ///< in its own rows; they count as sent to each other member
  std::uint64_t read = 0;     ///< in the rows of each other member

  RowBytes& operator+=(const RowBytes& other) {
    written += other.written;
    read += other.read;
    return *this;
  }
};

/// The board of a communicator, and the steps that reduce on it. Each part of a call has a turn. All ranks make the
/// same calls, so that they give the same turn to the same part. Its owner locks.
class BoardTurns {
 public:
  struct Turn {
    std::uint64_t number = 0;
    StepOf step;
    RowReduction reduction;
    Stage* stage = nullptr;  ///< what holds the data on the host, if they lie on a device
  };

  explicit BoardTurns(Board board) : board_(std::move(board)) {}
  ~BoardTurns() { board_.leave(); }
  BoardTurns(const BoardTurns&) = delete;
  BoardTurns& operator=(const BoardTurns&) = delete;

  Board& board() { return board_; }
  const Board& board() const { return board_; }
  RowBytes& bytes() { return bytes_; }
  const RowBytes& bytes() const { return bytes_; }
  /// Gives turns to so many parts of a call. Returns the number of the first one.
  std::uint64_t take(std::uint32_t parts) { return std::exchange(next_, next_ + parts); }

  /// This step waits for its turn from now on.
  void add(const Turn& turn) {
    const auto later =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Turn& other) { return other.number > turn.number; });
    waiting_.insert(later, turn);
  }
  bool empty() const { return waiting_.empty(); }
  /// Returns the step that is to write its row next, or null if it has not started.
  const Turn* to_write() const {
    for (const Turn& turn : waiting_) {
      if (turn.number > board_.written()) return turn.number == board_.written() + 1 ? &turn : nullptr;
    }
    return nullptr;
  }
  /// Returns the step that is to read the rows of its turn next, or null if none has written its own.
  const Turn* to_read() const {
    return empty() || waiting_.front().number > board_.written() ? nullptr : &waiting_.front();
  }
  /// Is this the turn whose row is to be written next, while no step waits?
  bool is_next(std::uint64_t turn) const { return empty() && turn == board_.written() + 1; }
  /// Have all members written their row of this turn? It must be the next one to be read.
  bool are_all_written(std::uint64_t turn) {
    while (seen_ < board_.members() && board_.has_written(seen_, turn)) ++seen_;
    return seen_ == board_.members();
  }
  /// The rows of this turn have been read.
  void pass(std::uint64_t turn) {
    board_.pass(turn);
    seen_ = 0;
  }
  /// The step that to_read() returns has read its rows.
  void end_turn() {
    pass(waiting_.front().number);
    waiting_.erase(waiting_.begin());
  }
  /// Removes all turns for which `matches` returns true.
  template <class Predicate>
  void remove_if(Predicate matches) {
    std::erase_if(waiting_, matches);
    seen_ = 0;
  }

  /// Returns the members that have not written their row of this turn. The own rank must not have read the rows yet.
  std::vector<Rank> missing(std::uint64_t turn) const {
    std::vector<Rank> members;
    for (Rank member = 0; member < board_.members(); ++member) {
      if (!board_.has_written(member, turn)) members.push_back(member);
    }
    return members;
  }

  /// Is there a row that can be written, or are there rows that can be read?
  bool can_move() {
    if (to_write() && board_.has_room()) return true;
    const Turn* const next = to_read();
    return next && are_all_written(next->number);
  }

  /// May this thread sleep until a member wakes it?
  bool may_sleep() {
    board_.ask_to_be_woken();
    return !can_move();
  }

 private:
  Board board_;
  RowBytes bytes_;
  std::uint64_t next_ = 1;
  std::vector<Turn> waiting_;  // by number
  Rank seen_ = 0;              // so many members have written their row of the turn that is to be read next
};

}  // namespace lacuna::runtime
