#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/engine/absence.hpp"
#include "runtime/engine/alarms.hpp"
#include "runtime/engine/boards.hpp"
#include "runtime/engine/clients.hpp"
#include "runtime/engine/computing.hpp"
#include "runtime/engine/deadlines.hpp"
#include "runtime/engine/deferred.hpp"
#include "runtime/engine/executor_options.hpp"
#include "runtime/engine/failures.hpp"
#include "runtime/engine/incoming.hpp"
#include "runtime/engine/link.hpp"
#include "runtime/engine/matching.hpp"
#include "runtime/engine/memory_pools.hpp"
#include "runtime/engine/message_graphs.hpp"
#include "runtime/engine/operations.hpp"
#include "runtime/engine/outgoing.hpp"
#include "runtime/engine/run_tracer.hpp"
#include "runtime/engine/served_device.hpp"
#include "runtime/engine/stages.hpp"
#include "runtime/engine/steps.hpp"
#include "runtime/engine/watched.hpp"
#include "runtime/engine/wire.hpp"
#include "runtime/observe/flight_record.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/values/job_counters.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

/// Runs the steps of graphs: it keeps the steps that are ready, hands messages to the transport, takes what arrives,
/// and makes the progress of this rank. Each rank has one, which all communicators of the rank share. The watch reaches
/// all communicators through it.
///
/// Thread rule: any thread may call public functions, but some are for communicators only, under a Lock. What they call
/// runs under `mutex_`, which a progress loop lets go of between rounds. Callbacks of the transport run under it too,
/// and never call the program. A thread may hold `mutex_` for long, as parts begin and end under it. Only posted() does
/// not need it.
class Executor final : public Watched, private Receiver, private Steps {
 public:
  Executor(std::unique_ptr<Transport> transport, Rank rank, Rank size, const ExecutorOptions& options);
  ~Executor() override;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Connects to the processes of the job and starts the progress thread if there is to be one.
  Status connect(std::vector<std::vector<std::byte>> addresses);
  /// Sets the function that stalled, expired and mismatched runs are reported to. It is called without the lock. It
  /// must be set before the first call.
  void set_reporter(std::function<void(const Trouble&)> reporter) { failures_.set_reporter(std::move(reporter)); }

  Rank rank() const { return rank_; }
  Rank size() const { return size_; }
  const ExecutorOptions& options() const { return options_; }
  const TimeSource& time() const { return options_.time; }
  /// Returns ok, or why calls with data in this memory are not served. The first call for a device opens it. A device
  /// must reach the addresses, of which a null one lies nowhere.
  Status serve(const Memory& memory, std::span<const void* const> addresses);
  /// The work that enters this stream of the program from now on begins once the runs of the batch have ended. Returns
  /// ok, or why the stream can't wait.
  Status hold(Run& first, void* stream);
  Counters counters(Rank peer) const;
  /// Returns all members but JobCounters::host.
  JobCounters job_counters() const;
  /// From now on job_counters() tells the largest and the last values of measures of calls that end later. Sums and
  /// means go on.
  void restart_measures();

  /// Makes one round of progress. Returns true if anything moved.
  bool progress();
  /// Waits until `done` returns true, which is called under the lock, or until the time `until`. Makes progress
  /// meanwhile, unless a progress thread does.
  /// A `done` of many captures is best given by std::ref, as a copy of it takes memory.
  bool wait(const std::function<bool()>& done, Clock::time_point until);
  /// Returns a descriptor. After arm() has returned true, it is readable when progress() has something to do; with a
  /// progress thread, when a call has ended. It is always readable while a token waits.
  int event_fd() const { return alarms_.event_fd(); }
  /// The address of the doorbell by which other ranks of this host wake this one.
  const Doorbell::Address& doorbell() const { return alarms_.doorbell().address(); }
  /// Must be called before a sleep on event_fd(). If it returns false, progress() must be called first.
  bool arm();
  std::optional<Finished> next_finished();
  /// Lets the transport finish what it can and takes it down. After that only the watch may call. If calls have failed
  /// because an answer did not come, it waits for close_grace at most. After fail() it leaves all that to release(),
  /// and it ends early if fail() is called meanwhile.
  Status close(std::chrono::milliseconds deadline);
  std::string flight_record() const;
  /// Returns the trace, or null. It may be read after close() or release().
  const Tracer* tracer() const { return tracer_ ? &tracer_->tracer() : nullptr; }
  /// Returns how to convert ticks, in which the trace tells the time.
  TickScale::Line time_scale() const { return tick_scale_.line(); }

  /// Returns how far each communicator came, for the goodbye. See Clients::reached().
  std::vector<Reach> reached() const;
  std::optional<Posted> posted(std::uint64_t communicator, std::uint32_t run) override;
  /// Poisons the communicator of this id, if there is one. What its calls have given to the transport still ends.
  void poison(std::uint64_t communicator, const Status& verdict) override;
  /// Poisons all communicators, also later ones, and moves no data any more: peers may leave from now on. All
  /// operations of the transport end, unless others can touch their memory.
  void fail(const Status& verdict) override;
  /// Is called after fail(). If all peers have stopped, the operations that waited for that end. If some have not, or
  /// if devices can touch the operations' memory too, the operations stay, and their memory is not reclaimed.
  void release(bool all_have_stopped) override;
  /// Makes progress from a thread of the watch. It runs no code of the program.
  void help() override;
  std::uint64_t sent(Rank peer) override { return counters(peer).messages_sent; }
  /// Sends each member a statement. A member answers it if it has posted something else.
  void tell_members(std::uint64_t communicator, std::uint32_t run) override;

  /// The lock of this rank's executor. A thread that waits for it gets it before the next round of a polling thread.
  class Lock {
   public:
    explicit Lock(const Executor& executor);
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    std::unique_lock<std::mutex>& native() { return lock_; }
    /// Frees the lock before this object ends. Nothing that it guards may be touched until lock().
    void unlock() { lock_.unlock(); }
    /// Takes the lock again after unlock().
    void lock();

   private:
    const LogHold lines_;  // keeps the lines that are logged under the lock until it is free
    const Executor& executor_;
    std::unique_lock<std::mutex> lock_;
  };

  // Only communicators call these functions, and they hold a Lock.

  /// Serves the communicator from now on. Returns ok, or why the job has failed.
  const Status& join(Client& communicator);
  /// Ends the communicator's calls with an error and serves it no more.
  void leave(Client& communicator);
  Landings& landings() { return landings_; }
  /// Returns an unused run for the caller to fill. It is the caller's until abandon().
  CollectiveRun& take_call() { return *calls_.take(); }
  /// Can all other ranks of this host read the copies that programs make for them? Ranks that have not been asked
  /// before begin to map the memory of the copies, and do not count as able until they have answered.
  bool neighbours_map_copies(const Client& communicator);
  /// Has a call been served whose data lie on a device?
  bool has_device() const { return device_.compute() != nullptr; }
  MessageRun& take_message() { return *messages_.take(); }
  /// Makes all that a run needs to begin, so that it can be numbered after that. If it throws std::bad_alloc, nothing
  /// has changed.
  void prepare(Run& run);
  /// Gives back what prepare() has made.
  void lay_aside_parts(Run& run);
  const Status& out_of_memory() const { return failures_.out_of_memory(); }
  /// Starts a batch whose runs are prepared and stand in their communicator's table. Their deadlines count from now.
  /// They may end before this returns. flush_deferred() must be called once the lock is free.
  void begin(Run& first);
  /// Says that nobody needs the run any more. It is recycled once the transport has let go of it. flush_deferred() must
  /// be called once the lock is free.
  void abandon(Run& run);
  /// Can others touch the memory of failed calls until the process ends?
  bool keeps_memory() const { return keeps_memory_; }

  // Communicators call these functions too, without a Lock.

  const MemoryPools& memory() const { return memory_; }

  /// Does what must be done without the lock: sends reports, and lets go of the callers' memory.
  void flush_deferred();
  /// Poisons this communicator. Its calls end with this status.
  void fail(Client& communicator, const Status& verdict);

 private:
  /// What the executor counts for job_counters().
  struct Tally {
    std::uint64_t duplicate_fragments = 0;
    std::uint64_t waited = 0;        ///< in ticks
    std::uint64_t overlappable = 0;  ///< part of `waited`; see JobCounters::overlappable_seconds
  };

  // Counting (executor_counters.cpp)
  Counters traffic_with(Rank peer) const;
  void count_wait(std::uint64_t begin, bool looked_in_vain);

  // Steps (executor.cpp)
  bool may_meet(const CollectiveRun& run) const;
  std::uint32_t parts_in_flight(const CollectiveRun& run) const;
  std::uint32_t parts_with_copies(const CollectiveRun& run) const;
  bool has_next_part(const CollectiveRun& run) const;
  void make_first_parts(CollectiveRun& run);
  void begin_call(CollectiveRun& run);
  ActivePart& add_part(Run& run);
  ActivePart& add_planned_part(CollectiveRun& run);
  ActivePart& make_part(CollectiveRun& run);
  void make_part(ActivePart& part, const std::shared_ptr<const Graph>& known);
  static void renew(ActivePart& part);
  void lay_out_part(ActivePart& part);
  void start_part(ActivePart& part);
  void start_steps(ActivePart& part);
  void settle();
  void start(ActivePart& part, StepId step);
  void complete(ActivePart& part, StepId step) override;
  void finish_part(ActivePart& part);
  bool follow(ActivePart& part);
  void finish_run(Run& run, const Status& status);
  void let_go(Run& run);
  void recycle(Run& run);
  void empty(CollectiveRun& call);

  // Computing (executor_compute.cpp)
  void end_work(const Work& work) override;
  void free(Run& run) override;
  void wake_process(Rank process) override { outgoing_.send_credit(process); }
  void kernel_failed(CollectiveRun& call, const Work& work);

  // Data on a device (executor_device.cpp)
  void open_device(kernels::Device& device);
  void device_failed(const Work& work);

  // Messages (executor_messages.cpp)
  void begin_message(MessageRun& run);
  ActivePart& make_message_part(MessageRun& run);
  void receive_landed(const Matching::Met& met);
  void receive_first(Client& communicator, Place& place, const Arrival& message);
  void refuse_message(MessageRun& receive, Rank source, const Status& why);

  // Failure (executor_failure.cpp)
  void end_calls(Client& communicator, const Status& status);
  void end_call(CollectiveRun& run, const Status& status);
  void purge(const std::function<bool(const Run& run)>& belongs);
  void after_handlers();
  void end_operations();
  void leave_memory();
  void fail_after_throw();
  void flush_reports();
  void tell(const std::vector<Trouble>& reports) const;

  // What ranks tell each other of their calls where rank 0 has left (executor_statements.cpp)
  void hear_statement(Rank from, const MessageHeader& header, std::span<const std::byte> body);
  void send_answers();

  // What arrives (executor_arrivals.cpp)
  void on_message(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes) override;
  void on_descriptor(Peer from, std::span<const std::byte> header, Descriptor descriptor) override;
  void on_complete(Token token, const Status& status) override;
  void on_peer_failure(Peer peer, const Status& status) override;
  void operation_failed(const Operation& operation, const Status& status);
  std::optional<MessageHeader> read_header(Rank from, std::span<const std::byte> header);
  void take_credits(Rank from, std::uint64_t credits);
  void distrust(Rank from, std::string what);
  Client* addressee(const MessageHeader& header) const;
  void take_eager(Client& communicator, const Arrival& message, std::span<const std::byte> bytes);
  bool take_descriptor(Client& communicator, const Arrival& message, Descriptor descriptor);
  Place place(Client& communicator, const Arrival& message);
  void violation(Client& communicator, const Arrival& message, std::string text);
  void adopt_early_messages(ActivePart& part);
  void refuse_early_messages(const ActivePart& part);

  // Progress (executor_progress.cpp)
  bool progress_locked();
  void check_time();
  bool is_neglected();
  bool may_sleep();
  void wake();
  void give_way() const;

  // Waiting (executor_wait.cpp)
  template <class Done>
  bool wait_for(const Done& done, Clock::time_point until);
  template <class Done>
  bool wait_beside_thread(const Done& done, Clock::time_point until);
  template <class Done>
  bool ended_by_now(const Done& done);
  bool is_over(const std::function<bool()>& done);
  void idle(Clock::duration idle_for, Clock::duration longest);
  void sleep_on_events(Clock::duration longest);
  void progress_loop();

  const std::unique_ptr<Transport> transport_;
  const Rank rank_, size_;
  const ExecutorOptions options_;
  const MessageGraphs message_graphs_;
  const kernels::Backend& kernels_;

  mutable std::mutex mutex_;
  mutable std::atomic<int> contenders_{0};

  Links links_;
  Lanes<StepOf> ready_;
  Clients communicators_;
  std::uint32_t neglected_ = 0;  // how often something has moved while nobody looked at the transport
  // These are the runs of all communicators. A run outlives its communicator while the transport holds its memory.
  ObjectPool<CollectiveRun> calls_;
  ObjectPool<MessageRun> messages_;
  Operations operations_;
  MemoryPools memory_;
  Stages stages_;
  std::byte* probe_ = nullptr;        // a byte of mappable memory, to ask whether others map it; null: not asked yet
  std::vector<Descriptor> discards_;  // unwanted ones, kept until the handlers have returned
  Landings landings_;
  ServedDevice device_;
  FlightRecord record_;
  const TickScale tick_scale_;
  Tally tally_;
  const std::unique_ptr<RunTracer> tracer_;

  // These members keep what is to be done once the transport's handlers have returned.
  struct Answer {
    Client* communicator = nullptr;
    std::uint32_t run = 0;
    Rank to = 0;
  };
  std::vector<Answer> answers_;  // to statements that ask

  Deferred deferred_;
  Failures failures_;
  Deadlines deadlines_;
  Computing computing_;
  Absence absence_;
  Alarms alarms_;
  Boards boards_;
  Outgoing outgoing_;
  Incoming incoming_;
  std::condition_variable ended_;  // tells that a run has ended, with a progress thread
  std::thread thread_;

  enum class State : std::uint8_t { Running, Failed, Closing, Closed };
  std::atomic<State> state_{State::Running};  // changes under the lock
  Status verdict_;                            // why the job has failed
  Ending ending_ = Ending::TakeDown;          // Leave once calls have failed
  Access access_ = Access::Nobody;            // after a failure: who can touch the memory of operations
  bool keeps_memory_ = false;                 // after a failure: operations must not end any more
  bool was_left_waiting_ = false;             // calls have failed because a peer or the network did not answer
};

}  // namespace lacuna::runtime
