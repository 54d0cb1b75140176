#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/engine/board_turns.hpp"
#include "runtime/engine/kept_calls.hpp"
#include "runtime/engine/matching.hpp"
#include "runtime/engine/run_table.hpp"
#include "runtime/engine/watched.hpp"
#include "runtime/values/group.hpp"
#include "runtime/values/hosts.hpp"
#include "runtime/values/job_counters.hpp"

namespace lacuna::runtime {

class Executor;

/// A communicator as the engine sees it. The engine keeps in it what belongs to one communicator: its unfinished runs,
/// the messages that wait for them, and why it has failed. The virtual functions are what the engine asks of the
/// communicator.
/// Thread rule: its executor's lock guards all of it. What never changes needs no lock.
class Client {
 public:
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  std::uint64_t id() const { return id_; }
  /// This process's rank in the group.
  Rank rank() const { return rank_; }
  Rank size() const { return group_.size(); }
  const Group& group() const { return group_; }
  /// Returns the host of each rank.
  const Hosts& hosts() const { return hosts_; }

  RunTable& runs() { return runs_; }
  const RunTable& runs() const { return runs_; }
  Matching& matching() { return matching_; }
  KeptCalls& kept() { return kept_; }
  /// The board that all ranks share, or null.
  BoardTurns* board() { return board_ ? &*board_ : nullptr; }
  const BoardTurns* board() const { return board_ ? &*board_ : nullptr; }

  bool has_failed() const { return !poison_.is_ok(); }
  /// From now on every post is refused with this status. The executor ends the unfinished runs.
  void poison(const Status& verdict) {
    poison_ = verdict;
    unheard_ = runs_.empty();
  }
  /// Returns true the first time only, so that each communicator reports one mismatch at most.
  bool may_accuse() { return !std::exchange(accuses_, true); }
  /// Returns a report about the call of this number, or about a message with this tag.
  Trouble trouble(Trouble::Kind kind, std::uint32_t number, std::string text) const;
  Reach reach() const;

  /// Returns the graph of a part that is about to begin. The reference is valid until the next call.
  virtual const std::shared_ptr<const Graph>& graph(const ActivePart& part) = 0;
  /// Adds a part that has ended to the report of its run.
  virtual void report(const ActivePart& part) = 0;
  /// Adds what a kernel has told of the method's measures to the report of its run.
  virtual void add_measures(CollectiveRun& run, const MeasureValues& told) const = 0;
  /// Returns the part that follows one that has ended, if any does.
  virtual std::optional<PartPlan> next_of(const ActivePart& part) const = 0;
  /// A run has ended, at this time in ticks. When this returns, it is no longer among runs().
  virtual void ended(Run& run, std::uint64_t now) = 0;
  /// Returns a text that says what an unfinished run asks for and what it waits for.
  virtual std::string text_of(const Run& run) const = 0;
  virtual CommunicatorCounters counters(const TickScale::Line& scale) const = 0;
  /// See Executor::restart_measures().
  virtual void restart_measures() = 0;

 protected:
  /// The group holds the executor's own process. The executor outlives the client.
  Client(Executor& executor, std::uint64_t id, Group group, Hosts hosts);
  /// Takes the board that the ranks share. No call may have been made before.
  void take_board(Board board) { board_.emplace(std::move(board)); }
  ~Client() = default;

  /// Returns why no call can be made any more, or ok. The caller must return it to the program.
  const Status& told_poison() const {
    unheard_ = false;
    return poison_;
  }
  /// The job had failed before the communicator was made: every post is refused with this status.
  void begin_poisoned(const Status& verdict) { poison_ = verdict; }
  /// Returns why the communicator has failed, if no call has returned that to the program yet; else ok.
  Status unheard() const { return unheard_ ? poison_ : Status(); }

 private:
  const std::uint64_t id_;
  const Group group_;
  const Hosts hosts_;
  const Rank rank_;
  RunTable runs_;
  Matching matching_;
  KeptCalls kept_;
  std::optional<BoardTurns> board_;
  Status poison_;
  bool accuses_ = false;          // a mismatch has been reported
  mutable bool unheard_ = false;  // the communicator has failed, and no call has told the program yet
};

}  // namespace lacuna::runtime
