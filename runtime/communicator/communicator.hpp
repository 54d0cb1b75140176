#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/communicator/run_table.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/engine/graph_cache.hpp"
#include "runtime/engine/matching.hpp"
#include "runtime/graph/graph_cost.hpp"
#include "runtime/values/message.hpp"

namespace lacuna::runtime {

/// The ranks that call collectives together: numbers the calls, keeps the runs and the graphs. Destruction fails the
/// calls that have not ended; their memory must live until reclaimed() or the executor's close().
/// Thread rule: public functions lock the executor.
class Communicator {
 public:
  /// Of the executor's own process and others. `id`, group, hosts (by rank) and key are the same on all members; `key`
  /// is that of the draws of random calls that bring no sampler, the same in jobs that are to repeat each other.
  Communicator(Executor& executor, std::uint64_t id, Group group, Hosts hosts, std::uint64_t key);
  Communicator(Executor& executor, std::uint64_t id, Group group, Hosts hosts)
      : Communicator(executor, id, std::move(group), std::move(hosts), id) {}
  /// All on one host.
  Communicator(Executor& executor, std::uint64_t id, Group group)
      : Communicator(executor, id, group, Hosts(group.size())) {}
  /// Of all processes.
  Communicator(Executor& executor, std::uint64_t id) : Communicator(executor, id, Group(executor.size())) {}
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  std::uint64_t id() const { return id_; }
  Rank rank() const { return rank_; }
  Rank size() const { return group_.size(); }
  const Group& group() const { return group_; }
  /// By rank.
  const Hosts& hosts() const { return hosts_; }
  Executor& executor() { return executor_; }
  /// An id that no other communicator of the job has, equal on all members that have posted the same number of calls;
  /// `part` tells apart the communicators that are made from it at a time.
  std::uint64_t next_id(std::uint64_t part) const;
  /// Ok, or why every further call is refused.
  Status status() const;

  /// Starts a call. On an error nothing was sent. The run stays until release().
  Result<Run*> post(const Call& call, const Algorithm& algorithm);
  /// Makes the run of a call that start() starts, as often as it has ended. It stays until release().
  Result<Run*> prepare(const Call& call, const Algorithm& algorithm);
  /// Starts a prepared run as post() would. On an error nothing was sent, and it may be tried again.
  Status start(Run& run);
  /// Starts one side of a message. On an error nothing was sent or taken.
  Result<Run*> post(const Send& message);
  Result<Run*> post(const Receive& message);
  /// Makes progress; the bytes of the message that the next receive of this name would take, if one has come.
  Result<std::optional<std::size_t>> probe(Rank from, int tag);
  /// What a run that has ended well has left out; nothing of one that was to leave nothing out.
  Report report(const Run& run) const;
  /// Of a finished receive: the bytes that it took.
  std::size_t received(const Run& run) const;

  bool test(Run& run);
  /// Waits until the run's end or `timeout`; TimedOut then says that the run lives. After a failure it waits on until
  /// the transport has let go of the buffers, for reclaim_grace at most; else the status says that they are in use.
  Status wait(Run& run, std::optional<std::chrono::milliseconds> timeout);
  /// wait() without a timeout, and release().
  Status finish(Run& run);
  /// True when the transport no longer touches the run's buffers.
  bool reclaimed(const Run& run) const;
  /// The caller has no more interest in the run: it is recycled once the transport has let go.
  void release(Run& run);

  /// Poisons this communicator: every unfinished run ends with this status, every later post returns it.
  void fail(const Status& verdict);

  // For the executor, under its lock.

  RunTable& runs() { return runs_; }
  const RunTable& runs() const { return runs_; }
  Matching& matching() { return matching_; }
  bool has_failed() const { return !poison_.is_ok(); }
  /// Every later post is refused with this status; its runs are the executor's to end.
  void poison(const Status& verdict) {
    poison_ = verdict;
    unheard_ = runs_.empty();
  }
  /// True once: one rank is accused of having asked for something else.
  bool may_accuse() { return !std::exchange(accuses_, true); }
  /// Of a part that is about to begin; valid until the next call.
  const std::shared_ptr<const Graph>& graph(const ActivePart& part);
  /// A part has ended: its run's report takes it in.
  void report(const ActivePart& part);
  /// Likewise what a kernel has counted.
  void count(CollectiveRun& run, const Counted& counted) const;
  /// What follows a part that has ended.
  std::optional<PartPlan> next_of(const ActivePart& part) const;
  /// A run has ended, at this time in ticks.
  void ended(Run& run, std::uint64_t now);
  /// What an unfinished run asks for, and what it waits for.
  std::string text_of(const Run& run) const;
  /// A report about the call of this number, or a message with this tag.
  Trouble trouble(Trouble::Kind kind, std::uint32_t number, std::string text) const;
  Reach reach() const;
  CommunicatorCounters counters(const TickScale::Line& scale) const;

 private:
  /// One side of a message; `peer` is a rank of this communicator.
  struct Message {
    RunKind kind = RunKind::Send;
    void* data = nullptr;
    std::size_t count = 0;
    Dtype dtype = Dtype::F32;
    Rank peer = 0;
    int tag = 0;
    Memory memory = {};
    const MessageOptions& options;
  };

  Result<Run*> post_message(const Message& message);
  static Status check_deadline(std::chrono::milliseconds deadline);
  /// `what` the message is asked for: "send to".
  Status check_name(std::string_view what, Rank peer, int tag) const;
  Status check(const Message& message) const;
  void fill(MessageRun& run, const Message& message);
  void add_numbered(MessageRun& run);
  static void reset(Run& run);
  /// What Kokkos' tools are to call the run; empty if there are none.
  static std::string name_for_tools(const Run& run);
  static void show_to_tools(Run& run);
  std::string text_of_message(const MessageRun& run) const;

  /// What has become of the calls of one kind.
  struct CallTally {
    std::uint64_t started = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
    std::uint64_t ticks = 0;  ///< from start to end
  };

  Status check(const Call& call) const;
  /// Why no call can be made any more, or ok; the caller tells the program.
  const Status& told_poison() const {
    unheard_ = false;
    return poison_;
  }
  /// Ok, or why this call can't start now.
  Status may_start(const Call& call, const Algorithm& algorithm) const;
  void fill(CollectiveRun& run, const Call& call, const Algorithm& algorithm);

  // How a run starts (communicator_ready.cpp)
  CollectiveRun* take_filled(const Call& call, const Algorithm& algorithm);
  Status try_to_start(CollectiveRun& run, Executor::Lock& lock);
  void launch(CollectiveRun& run);
  void give_back(Run& run);
  /// Plans the run, and makes what its plan needs and this rank lacks, while it lets go of the lock. Ok, or why the run
  /// can't start: nothing has been numbered or drawn.
  Status make_ready(CollectiveRun& run, Executor::Lock& lock);
  bool plan(CollectiveRun& run);
  void make_part(CollectiveRun& run, std::uint32_t number, GraphCache& made) const;
  /// From which a call draws.
  Sampler& sampler_of(const Options& options);
  static const Algorithm& program_of(const CollectiveRun& run, const PartPlan& part);

  // Calls with a method (communicator_methods.cpp)
  /// Ok, or why its method or its state do not allow it to start now.
  Status check_method(const Call& call, const Algorithm& algorithm) const;
  /// The plan stands: makes what the run needs of its state, and its report.
  void prepare_method(CollectiveRun& run);
  /// The run has its number: draws, and takes its state.
  void begin_method(CollectiveRun& run);
  void end_method(CollectiveRun& run);
  void count_report(const CollectiveRun& run);
  PartCost cost(const ActivePart& part);
  const PartCost& dense_cost(const ActivePart& part);

  GraphShape graph_shape(const Algorithm& program, const Structure& structure, const Order& order) const;
  GraphShape graph_shape(const CollectiveRun& run, const PartPlan& part, const Order& order) const {
    return graph_shape(program_of(run, part), structure_of(run, part), order);
  }
  CallTally& tally(const Run& run);
  Status reclaim(const Run& run, const Status& status, Clock::time_point until);

  Executor& executor_;
  const std::uint64_t id_;
  const Group group_;
  const Hosts hosts_;
  const Rank rank_;
  Status poison_;
  bool accuses_ = false;          // a mismatch has been reported
  mutable bool unheard_ = false;  // it failed when no call was there to say so, and none has since
  RunTable runs_;
  Matching matching_;
  GraphCache graphs_;
  CostCache costs_;
  std::array<CallTally, all_collectives.size()> calls_{};  // by collective
  CallTally sends_, receives_;
  std::vector<MethodCounters> methods_;
  Sampler sampler_;  // for random calls that bring none
};

}  // namespace lacuna::runtime
