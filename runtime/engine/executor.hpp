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
#include "runtime/engine/arrivals.hpp"
#include "runtime/engine/clients.hpp"
#include "runtime/engine/deadlines.hpp"
#include "runtime/engine/deferred.hpp"
#include "runtime/engine/executor_options.hpp"
#include "runtime/engine/failures.hpp"
#include "runtime/engine/landings.hpp"
#include "runtime/engine/link.hpp"
#include "runtime/engine/memory_pools.hpp"
#include "runtime/engine/run_tracer.hpp"
#include "runtime/engine/scheduler.hpp"
#include "runtime/engine/served_device.hpp"
#include "runtime/engine/statements.hpp"
#include "runtime/engine/watched.hpp"
#include "runtime/observe/flight_record.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/values/job_counters.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

/// Runs the calls and messages of this rank: it has the lock, makes progress, lets threads wait, and ends what fails. A
/// Scheduler runs the steps, and Arrivals take what the transport brings. Each rank has one executor, which all
/// communicators of the rank share. The watch reaches all communicators through it.
///
/// Thread rule: any thread may call public functions, but some are for communicators only, under a Lock. What they call
/// runs under `mutex_`, which a progress loop lets go of between rounds. Callbacks of the transport run under it too,
/// and never call the program. A thread may hold `mutex_` for long, as parts begin and end under it. Only posted() does
/// not need it.
class Executor final : public Watched {
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
  CollectiveRun& take_call() { return scheduler_.take_call(); }
  /// Can all other ranks of this host read the copies that programs make for them? Ranks that have not been asked
  /// before begin to map the memory of the copies, and do not count as able until they have answered.
  bool neighbours_map_copies(const Client& communicator);
  /// Has a call been served whose data lie on a device?
  bool has_device() const { return device_.compute() != nullptr; }
  MessageRun& take_message() { return scheduler_.take_message(); }
  /// Makes all that a run needs to begin, so that it can be numbered after that. If it throws std::bad_alloc, nothing
  /// has changed.
  void prepare(Run& run) { scheduler_.prepare(run); }
  /// Gives back what prepare() has made.
  void lay_aside_parts(Run& run) { scheduler_.lay_aside_parts(run); }
  const Status& out_of_memory() const { return failures_.out_of_memory(); }
  /// Starts a batch whose runs are prepared and stand in their communicator's table. Their deadlines count from now.
  /// They may end before this returns. flush_deferred() must be called once the lock is free.
  void begin(Run& first);
  /// Says that nobody needs the run any more. It is recycled once the transport has let go of it. flush_deferred() must
  /// be called once the lock is free.
  void abandon(Run& run) { scheduler_.abandon(run); }
  /// Can others touch the memory of failed calls until the process ends?
  bool keeps_memory() const { return keeps_memory_; }

  // Communicators call these functions too, without a Lock.

  const MemoryPools& memory() const { return memory_; }

  /// Does what must be done without the lock: sends reports, and lets go of the callers' memory.
  void flush_deferred();
  /// Poisons this communicator. Its calls end with this status.
  void fail(Client& communicator, const Status& verdict);

 private:
  // Calls and devices (executor.cpp)
  Counters traffic_with(Rank peer) const;
  void open_device(kernels::Device& device);

  // Failure (executor_failure.cpp)
  void end_calls(Client& communicator, const Status& status);
  void after_handlers();
  void fail_after_throw();
  void flush_reports();
  void tell(const std::vector<Trouble>& reports) const;

  // Progress and waiting (executor_progress.cpp)
  bool progress_locked();
  void check_time();
  bool is_neglected();
  bool may_sleep();
  void wake();
  void give_way() const;
  template <class Done>
  bool wait_for(const Done& done, Clock::time_point until);
  template <class Done>
  bool wait_beside_thread(const Done& done, Clock::time_point until);
  template <class Done>
  bool ended_by_now(const Done& done);
  bool is_over(const std::function<bool()>& done);
  void count_wait(std::uint64_t begin, bool looked_in_vain);
  void idle(Clock::duration idle_for, Clock::duration longest);
  void sleep_on_events(Clock::duration longest);
  void progress_loop();

  const std::unique_ptr<Transport> transport_;
  const Rank rank_, size_;
  const ExecutorOptions options_;

  mutable std::mutex mutex_;
  mutable std::atomic<int> contenders_{0};

  Links links_;
  Clients communicators_;
  MemoryPools memory_;
  std::byte* probe_ = nullptr;        // a byte of mappable memory, to ask whether others map it; null: not asked yet
  std::vector<Descriptor> discards_;  // unwanted ones, kept until the handlers have returned
  Landings landings_;
  ServedDevice device_;
  FlightRecord record_;
  const TickScale tick_scale_;
  const std::unique_ptr<RunTracer> tracer_;
  Deferred deferred_;
  Failures failures_;
  Deadlines deadlines_;
  Absence absence_;
  Alarms alarms_;
  std::condition_variable ended_;  // tells that a run has ended, with a progress thread
  Scheduler scheduler_;
  Statements statements_;
  Arrivals arrivals_;
  std::thread thread_;

  std::uint32_t neglected_ = 0;                  // how often something has moved while nobody looked at the transport
  std::uint64_t waited_ = 0, overlappable_ = 0;  // in ticks; see JobCounters::overlappable_seconds

  enum class State : std::uint8_t { Running, Failed, Closing, Closed };
  std::atomic<State> state_{State::Running};  // changes under the lock
  Status verdict_;                            // why the job has failed
  Ending ending_ = Ending::TakeDown;          // Leave once calls have failed
  Access access_ = Access::Nobody;            // after a failure: who can touch the memory of operations
  bool keeps_memory_ = false;                 // after a failure: operations must not end any more
  bool was_left_waiting_ = false;             // calls have failed because a peer or the network did not answer
};

}  // namespace lacuna::runtime
