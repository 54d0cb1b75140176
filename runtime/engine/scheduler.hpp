#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/engine/absence.hpp"
#include "runtime/engine/alarms.hpp"
#include "runtime/engine/boards.hpp"
#include "runtime/engine/computing.hpp"
#include "runtime/engine/deadlines.hpp"
#include "runtime/engine/deferred.hpp"
#include "runtime/engine/failures.hpp"
#include "runtime/engine/incoming.hpp"
#include "runtime/engine/landings.hpp"
#include "runtime/engine/message_graphs.hpp"
#include "runtime/engine/operations.hpp"
#include "runtime/engine/outgoing.hpp"
#include "runtime/engine/run_tracer.hpp"
#include "runtime/engine/stages.hpp"
#include "runtime/engine/steps.hpp"

namespace lacuna::runtime {

/// Runs the steps of graphs: makes the parts of runs, starts the steps that are ready, and ends steps, parts and runs.
/// What carries out the steps belongs to it. Its owner locks.
class Scheduler final : private Steps {
 public:
  /// What it works with. All of it outlives the object.
  struct Engine {
    const ExecutorOptions& options;
    Rank rank = 0, size = 0;
    const kernels::Backend& kernels;
    Transport& transport;
    Links& links;
    MemoryPools& memory;
    Landings& landings;
    std::vector<Descriptor>& discards;
    ServedDevice& device;
    FlightRecord& record;
    RunTracer* tracer = nullptr;  ///< null: no trace is made
    Deferred& deferred;
    Failures& failures;
    Deadlines& deadlines;
    Absence& absence;
    Alarms& alarms;
    std::condition_variable& ended;  ///< tells that a run has ended, with a progress thread
  };

  explicit Scheduler(const Engine& engine);

  // Runs (scheduler_runs.cpp)

  CollectiveRun& take_call() { return *calls_.take(); }
  MessageRun& take_message() { return *messages_.take(); }
  /// Makes all that a run needs to begin. If it throws std::bad_alloc, nothing has changed.
  void prepare(Run& run);
  /// Gives back the parts that prepare() has made, or that a failed run has left.
  void lay_aside_parts(Run& run);
  /// Begins a batch. Its runs may end before this returns.
  void begin(Run& first);
  void end(Run& run, const Status& status);
  /// Ends all runs of a communicator.
  void end_all(Client& communicator, const Status& status);
  /// Nobody needs the run any more. It is recycled once nothing uses its buffers.
  void abandon(Run& run);
  /// The communicator leaves. Its runs have ended.
  void forget(Client& communicator);
  /// Keeps the memory that others can still touch until the process ends: the callers' memory that runs hold, and
  /// landing slots. Nothing may be called after this.
  void leave_memory();

  // Steps (scheduler.cpp)

  /// Starts steps that are ready, and what links have to do, until there is nothing left.
  void settle();
  /// Takes a message to the receive that it meets, which begins or ends. Then the messages that waited for this one may
  /// begin theirs.
  void receive(Client& communicator, Place& place, const Arrival& message);
  /// Ends all operations. Nobody may touch their memory any more.
  void end_operations();

  Boards& boards() { return boards_; }
  const Boards& boards() const { return boards_; }
  Computing& computing() { return computing_; }
  Operations& operations() { return operations_; }
  Outgoing& outgoing() { return outgoing_; }
  const Outgoing& outgoing() const { return outgoing_; }
  Incoming& incoming() { return incoming_; }
  /// Returns how many bytes of devices have gone through pinned memory.
  std::uint64_t staged_bytes() const { return stages_.bytes(); }

 private:
  // Runs (scheduler_runs.cpp)
  bool may_meet(const CollectiveRun& run) const;
  void make_first_parts(CollectiveRun& run);
  void begin_call(CollectiveRun& run);
  void begin_message(MessageRun& run);
  void receive_landed(const Matching::Met& met);
  void end_alone(CollectiveRun& run, const Status& status);
  void refuse_message(MessageRun& receive, Rank source, const Status& why);
  void purge(const std::function<bool(const Run& run)>& belongs);
  void let_go(Run& run);
  void recycle(Run& run);
  void empty(CollectiveRun& call);

  // Parts (scheduler_parts.cpp)
  std::uint32_t parts_in_flight(const CollectiveRun& run) const;
  std::uint32_t parts_with_copies(const CollectiveRun& run) const;
  bool has_next_part(const CollectiveRun& run) const;
  ActivePart& add_part(Run& run);
  ActivePart& add_planned_part(CollectiveRun& run);
  ActivePart& make_part(CollectiveRun& run);
  void make_part(ActivePart& part, const std::shared_ptr<const Graph>& known);
  ActivePart& make_message_part(MessageRun& run);
  static void renew(ActivePart& part);
  void lay_out_part(ActivePart& part);
  void start_part(ActivePart& part);
  void start_steps(ActivePart& part);
  void adopt_early_messages(ActivePart& part);
  void refuse_early_messages(const ActivePart& part);
  void finish_part(ActivePart& part);
  bool follow(ActivePart& part);

  // Steps (scheduler.cpp)
  void start(ActivePart& part, StepId step);
  void complete(ActivePart& part, StepId step) override;
  void end_work(const Work& work) override;
  void device_failed(const Work& work);
  void kernel_failed(CollectiveRun& call, const Work& work);
  void free(Run& run) override;
  void wake_process(Rank process) override { outgoing_.send_credit(process); }

  const Engine engine_;
  const MessageGraphs message_graphs_;
  Lanes<StepOf> ready_;
  // These are the runs of all communicators. A run outlives its communicator while the transport holds its memory.
  ObjectPool<CollectiveRun> calls_;
  ObjectPool<MessageRun> messages_;
  Stages stages_;
  Operations operations_;
  Computing computing_;
  Boards boards_;
  Outgoing outgoing_;
  Incoming incoming_;
};

}  // namespace lacuna::runtime
