#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/backend.hpp"
#include "runtime/engine/alarms.hpp"
#include "runtime/engine/clients.hpp"
#include "runtime/engine/computing.hpp"
#include "runtime/engine/executor_options.hpp"
#include "runtime/engine/failures.hpp"
#include "runtime/engine/stages.hpp"
#include "runtime/engine/steps.hpp"
#include "runtime/observe/flight_record.hpp"

namespace lacuna::runtime {

/// Carries out the steps that reduce on boards. Each writes its row as soon as there is room, and reads the rows of its
/// turn once all members have written them. Its owner locks.
class Boards {
 public:
  /// What it works with. All of it outlives the object.
  struct Engine {
    const ExecutorOptions& options;
    const kernels::Backend& kernels;
    Alarms& alarms;
    FlightRecord& record;
    Failures& failures;
    Stages& stages;
    Computing& computing;
    Steps& steps;
  };

  /// A job has so many processes.
  Boards(const Engine& engine, Rank processes) : engine_(engine), left_rows_(static_cast<std::size_t>(processes)) {}

  /// Starts a step that reduces on its communicator's board.
  void start(ActivePart& part, StepId step);
  /// A copy between the device and the stage of a step has ended: first the one to the stage, at last the one from
  /// there.
  void end_copy(const Work& work);
  /// Do no steps wait?
  bool empty() const { return waiting_.empty(); }
  /// Writes and reads the rows that can be. Returns true if there were any.
  bool advance();
  /// May this thread sleep until a member wakes it?
  bool may_sleep() const;
  /// Removes the waiting steps of these runs.
  void remove_if(const std::function<bool(const Run& run)>& belongs);

  /// If all that a part of this call does is one reduction of the host's data on the board, this returns the reduction.
  static std::optional<RowReduction> only_step(const CollectiveRun& run, const ActivePart& part);
  /// Writes the row of a call with an `only_step`. Returns false if the row can't be written yet.
  bool begin_meeting(CollectiveRun& run) const;
  /// Carries out the only step of a call whose row begin_meeting() has written, without an active part, if the rows of
  /// all members come soon. If they do not come, it returns false, and the caller makes the part. The step of the part
  /// finds the row when it starts, and does not write it again.
  bool meet(CollectiveRun& run);

  /// The communicator leaves. What it has counted on its board stays.
  void retire(Client& communicator);
  /// Returns the bytes of rows that this process shares with another one.
  RowBytes bytes_with(Rank process, const Clients& communicators) const;

 private:
  void await_turn(const StepOf& step, const RowReduction& reduction, Stage* stage);
  bool advance(Client& communicator);
  void wake_sleepers(Client& communicator);
  static bool write_row(CollectiveRun& run, std::span<const std::byte> bytes);
  bool agrees(const CollectiveRun& run, std::uint64_t turn, std::size_t bytes);
  void reduce_rows(CollectiveRun& run, std::uint64_t turn, const RowReduction& reduction, const Extent& to) const;
  void end_reduction(const BoardTurns::Turn& turn);

  const Engine engine_;
  std::vector<Client*> waiting_;     // communicators of which a step reduces on the board
  std::vector<RowBytes> left_rows_;  // by process: on the boards of communicators that have ended
};

}  // namespace lacuna::runtime
