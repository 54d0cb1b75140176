#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/flight_record.hpp"
#include "runtime/job/watch.hpp"
#include "runtime/link.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/tracer.hpp"
#include "runtime/values/job_counters.hpp"
#include "runtime/wire.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

struct ExecutorOptions {
  std::size_t window_bytes = 1 << 20;    ///< eager bytes to the wire, and fetched bytes, per peer
  std::uint64_t credit_bytes = 4 << 20;  ///< eager bytes that a peer may send ahead of their consumption
  std::size_t eager_bytes = 1 << 30;     ///< longer messages wait at the sender; 0: all do
  std::uint32_t parts_in_flight = 2;     ///< of one run
  std::uint32_t slots = 16;              ///< landing slots for fetched bytes that are to be reduced
  std::uint32_t max_runs = 1024;         ///< unfinished runs of one communicator
  std::uint32_t max_messages = 65536;    ///< unfinished sends and receives of one communicator
  std::size_t chunk_bytes = 256 << 10;   ///< a run is cut into parts so that the pieces come near to this
  std::chrono::milliseconds deadline{300'000};
  std::chrono::milliseconds stall{2'000};  ///< a run without progress for so long is compared with the other ranks'
  std::chrono::microseconds spin{5};       ///< polling before giving way to other processes
  bool progress_thread = false;
  std::size_t trace_events = 0;  ///< kept for a trace; 0: none is made
};

/// For the watch to say why a connection broke.
inline constexpr std::chrono::seconds broken_link_grace{1};
/// For the watch to say who is late.
inline constexpr std::chrono::seconds verdict_grace{10};

/// A finished run whose caller asked to be told.
struct Finished {
  std::uint64_t token = 0;
  Status status;
};

/// The graphs of a message's two sides: one step each, with the peer at the own position.
struct MessageGraphs {
  MessageGraphs();

  std::shared_ptr<const Graph> send, receive;
};

/// A message is a run of one part in a call of this shape: all bytes of one buffer.
inline constexpr Collective message_call = Collective::Broadcast;

/// Runs the steps of graphs: keeps what is ready, hands messages to the transport, takes what arrives, and makes the
/// progress of this rank. One per rank; all communicators of the rank share it, and the watch speaks to all through it.
///
/// Thread rule: public functions may be called from any thread. Everything below holds `mutex_`, which a progress loop
/// lets go of between rounds; callbacks of the transport run under it and never call users.
class Executor : public Watched, private Receiver {
 public:
  Executor(std::unique_ptr<Transport> transport, Rank rank, Rank size, const ExecutorOptions& options);
  ~Executor() override;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Connects to the processes of the job and starts the progress thread if there is to be one.
  Status connect(std::vector<std::vector<std::byte>> addresses);
  /// Where stalled, expired and mismatched runs are reported; called without the lock. Set before the first call.
  void set_reporter(std::function<void(const Trouble&)> reporter) { reporter_ = std::move(reporter); }

  Rank rank() const { return rank_; }
  Rank size() const { return size_; }
  const ExecutorOptions& options() const { return options_; }
  Status viable(const Memory& memory) const { return transport_->viable(memory); }
  Counters counters(Rank peer) const;
  /// All but the host.
  JobCounters job_counters() const;

  /// One round of progress; true if anything moved.
  bool progress();
  /// Waits until `done`, looked at under the lock, or until `until`; makes progress meanwhile unless a thread does.
  bool wait(const std::function<bool()>& done, Clock::time_point until);
  int event_fd() const { return event_fd_; }
  bool arm();
  std::optional<Finished> next_finished();
  /// Lets the transport finish what it can and takes it down; no call may follow but those of the watch. After fail()
  /// it leaves that to release(), and ends early if that comes meanwhile.
  Status close(std::chrono::milliseconds deadline);
  std::string flight_record() const;
  /// The trace, or null; to be read after close() or release().
  const Tracer* tracer() const { return tracer_.get(); }
  /// From ticks, in which the trace tells the time.
  TickScale::Line time_scale() const { return tick_scale_.line(); }

  /// How many calls were posted on each communicator, for the goodbye.
  std::vector<Reach> reached() const;
  std::optional<Posted> posted(std::uint64_t communicator, std::uint32_t run) override;
  /// Poisons all communicators, also those to come, and moves nothing any more: peers may leave from now on.
  void fail(const Status& verdict) override;
  /// After fail(), when the peers have stopped too: all operations of the transport end.
  void release() override;
  /// progress() from the watch's thread, which runs no code of the caller's.
  void help() override;

  /// The rank's big lock. Who waits for it gets it before the next round of a polling thread.
  class Lock {
   public:
    explicit Lock(const Executor& executor);
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    std::unique_lock<std::mutex>& native() { return lock_; }

   private:
    std::unique_lock<std::mutex> lock_;
  };

 private:
  friend class Communicator;

  /// Something that the transport has not finished; it owns the header meanwhile.
  struct Operation {
    MessageHeader header;
    StepOf step;  ///< no part: a credit message
    Rank peer = 0;
    std::size_t bytes = 0;
    std::size_t on_wire = 0;    ///< bytes counted in the link's window
    std::byte* slot = nullptr;  ///< a fetch whose bytes are to be reduced
    bool fetch = false;
  };

  /// The step that a message is for, or where it waits for its step.
  struct Place {
    ActivePart* part = nullptr;
    StepId step = 0;
    Landing* landing = nullptr;
  };

  /// What the executor counts for job_counters().
  struct Tally {
    std::uint64_t parked_messages = 0;
    std::uint64_t parked_bytes = 0;
    std::uint64_t descriptor_messages = 0;
    std::uint64_t stalls = 0;
    std::uint64_t waited = 0;  ///< in ticks
  };

  // Counting (executor_counters.cpp)
  void retire(const Communicator& communicator);
  void count_wait(std::uint64_t begin);

  // Steps (executor.cpp)
  void begin(Run& run);
  void activate_part(Run& run);
  ActivePart& add_part(Run& run);
  void prepare(ActivePart& part);
  void give_back_memory(ActivePart& part);
  void settle();
  void start(ActivePart& part, StepId step);
  void complete(ActivePart& part, StepId step);
  void finish_part(ActivePart& part);
  void finish_run(Run& run, const Status& status);
  void let_go(Run& run);
  void recycle(Run& run);
  void compute(ActivePart& part, StepId step);

  // Messages (executor_messages.cpp)
  void begin_message(Run& run);
  ActivePart& activate_message(Run& run);
  void receive_landed(Run& run, Landing* message);
  std::optional<Place> place_message(Communicator& communicator, Rank from, const MessageHeader& header,
                                     std::size_t bytes);
  std::optional<Place> place_first(Communicator& communicator, const MessageName& name, const MessageHeader& header,
                                   std::size_t bytes);
  void deliver_held(Communicator& communicator, const MessageName& name);
  void check_messages(Communicator& communicator, Clock::time_point now, bool stalled);
  void message_trouble(Trouble::Kind kind, const Run& run, std::string reason);

  // Failure (executor_failure.cpp)
  void fail(Communicator& communicator, const Status& status);
  void purge(const Communicator& communicator);
  void after_handlers();

  // Sending (executor_send.cpp)
  void start_send(ActivePart& part, StepId step);
  void start_sends(Rank peer);
  void send_message(ActivePart& part, StepId step);
  bool hand_over(Operation* operation, std::span<const std::byte> bytes, Delivery delivery);
  void end_send(Operation* operation, bool sent);
  void return_credit(Rank peer);

  // Receiving (executor_receive.cpp)
  void on_message(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes) override;
  void on_descriptor(Peer from, std::span<const std::byte> header, Descriptor descriptor) override;
  void on_complete(Token token, const Status& status) override;
  void on_peer_failure(Peer peer, const Status& status) override;
  void operation_failed(const Operation& operation, const Status& status);
  std::optional<MessageHeader> read_header(Rank from, std::span<const std::byte> header);
  std::optional<Place> place(Rank from, const MessageHeader& header, std::size_t bytes);
  std::optional<Place> place_in_part(ActivePart& part, Rank from, const MessageHeader& header, std::size_t bytes);
  Landing* early_landing(Communicator& communicator, Rank from, const MessageHeader& header);
  Landing* new_landing(Rank from, const MessageHeader& header);
  void start_receive(ActivePart& part, StepId step);
  void adopt_early_messages(ActivePart& part);
  bool accepts(ActivePart& part, StepId step, std::uint64_t bytes);
  void take_landing(ActivePart& part, StepId step);
  void release_landing(Landing* landing);
  void consume(ActivePart& part, StepId step, std::size_t offset, std::span<const std::byte> bytes);
  void start_fetches(Rank peer);
  void end_fetch(Operation* operation, bool fetched);
  bool end_operation(Operation* operation, bool well);
  void violation(Communicator& communicator, Rank from, const MessageHeader& header, std::string_view what);

  // Deadlines (executor_deadlines.cpp)
  void check_time();
  void check_runs(Communicator& communicator, Clock::time_point now, bool stalled);
  void trouble(Communicator& communicator, Trouble::Kind kind, std::uint32_t run, std::string text);
  void trouble(Communicator& communicator, Trouble report);
  void flush_deferred();
  void flush_troubles();

  // Progress (executor_progress.cpp)
  template <class Done>
  bool wait_for(const Done& done, Clock::time_point until);
  bool progress_locked();
  void request_pump(Rank peer);
  void idle(Clock::duration idle_for, Clock::duration longest);
  void sleep_on_events(std::chrono::milliseconds longest);
  void progress_loop();
  void give_way() const;
  static void signal(int fd);

  Link& link(Rank peer) { return links_[static_cast<std::size_t>(peer)]; }

  const std::unique_ptr<Transport> transport_;
  const Rank rank_, size_;
  const ExecutorOptions options_;
  const std::size_t fragment_bytes_;
  const MessageGraphs message_graphs_;

  mutable std::mutex mutex_;
  mutable std::atomic<int> contenders_{0};

  std::vector<Link> links_;
  std::vector<Rank> pump_;  // peers whose queues may have something to do
  Lanes<StepOf> ready_;
  std::vector<Communicator*> communicators_;
  std::vector<Reach> retired_;  // of communicators that were destroyed
  std::vector<CommunicatorCounters> retired_counters_;
  std::vector<SkipState*> feeding_;  // whose residual a call is using
  ObjectPool<Run> runs_;             // of all communicators; one outlives its own while the transport holds its memory
  ObjectPool<Operation> operations_;
  ObjectPool<Landing> landings_;
  BlockPool blocks_;
  std::uint32_t slots_in_use_ = 0;
  bool waiting_for_slot_ = false;
  FlightRecord record_;
  const TickScale tick_scale_;
  Tally tally_;
  const std::unique_ptr<Tracer> tracer_;

  // What must wait until the transport's handlers have returned.
  std::vector<Descriptor> discards_;
  std::vector<std::pair<Communicator*, Status>> failures_;

  // What must wait until the lock is free: reports, and the callers' memory that is no longer needed.
  std::function<void(const Trouble&)> reporter_;
  std::vector<Trouble> troubles_;
  std::atomic<bool> deferred_{false};
  std::vector<std::shared_ptr<const void>> let_go_;

  std::uint64_t movements_ = 0, movements_seen_ = 0;  // rounds of progress in which anything happened
  Clock::time_point last_movement_;
  Clock::time_point last_stall_report_;

  Fifo<Finished> finished_;
  int event_fd_ = -1;      // for the application: epoll over the transport's descriptor and the next two
  int finished_fd_ = -1;   // readable while finished_ holds something
  int attention_fd_ = -1;  // readable after the watch has moved or ended something, until arm()
  int wake_fd_ = -1;       // wakes whoever sleeps inside
  std::atomic<int> sleepers_{0};
  std::condition_variable ended_;  // with a progress thread: a run has ended
  std::thread thread_;

  enum class State : std::uint8_t { Running, Failed, Closing, Closed };
  std::atomic<State> state_{State::Running};  // changes under the lock
  Status verdict_;                            // why it has failed
};

}  // namespace lacuna::runtime
