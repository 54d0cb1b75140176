#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/communicator/announcement.hpp"
#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/engine/graph_cache.hpp"
#include "runtime/graph/frame.hpp"
#include "runtime/graph/graph_cost.hpp"
#include "runtime/values/exchange.hpp"
#include "runtime/values/message.hpp"

namespace lacuna::runtime {

/// The ranks that call collectives together. A communicator numbers the calls, and owns the runs and the graphs.
/// Destruction fails the calls that have not ended. Their memory must live until reclaimed() or the executor's close().
/// Thread rule: public functions lock the executor.
class Communicator : public Client {
 public:
  /// The group holds the executor's own process, as a rank or as an aggregator. `id`, `group`, `hosts` (the host of
  /// each rank and, behind them, of each aggregator) and `key` are the same on all members. Random calls without a
  /// sampler draw by `key`. Jobs that are to repeat each other give the same key.
  Communicator(Executor& executor, std::uint64_t id, Group group, Hosts hosts, std::uint64_t key);
  Communicator(Executor& executor, std::uint64_t id, Group group, Hosts hosts)
      : Communicator(executor, id, std::move(group), std::move(hosts), id) {}
  /// All members are on one host.
  Communicator(Executor& executor, std::uint64_t id, Group group)
      : Communicator(executor, id, group, Hosts(group.size() + group.aggregators())) {}
  /// The group is all processes of the job.
  Communicator(Executor& executor, std::uint64_t id) : Communicator(executor, id, Group(executor.size())) {}
  ~Communicator();

  Executor& executor() { return executor_; }
  /// An id that no other communicator of the job has. It is equal on all members that have posted the same number of
  /// calls. `part` differs for each communicator that is made from this one at the same time.
  std::uint64_t next_id(std::uint64_t part) const;
  /// Returns ok, or why every further call is refused.
  Status status() const;

  /// From now on calls may use the aggregators. `hall` is the communicator of all processes of the job, on which this
  /// communicator's first rank announces such calls. It outlives this object.
  void announce_on(Communicator& hall) { hall_ = &hall; }
  /// From now on calls may use this board, which all ranks share. No call may have been made, and `hosts` must say that
  /// there is a board.
  void share(Board board) { take_board(std::move(board)); }
  /// Sends bytes that nobody waits for. Returns ok, or why they are not sent.
  Status send_alone(Rank to, int tag, std::shared_ptr<const std::vector<std::byte>> bytes);
  /// Takes part in a call that the communicator's first rank has announced. This process is an aggregator. The call
  /// runs on its own, and on an error it has not begun.
  Status assist(const Announcement& announced, const Algorithm& algorithm);

  /// Starts a call. On an error nothing was sent. The run stays until release().
  Result<Run*> post(const Call& call, const Algorithm& algorithm);
  /// Starts a call that is like one that has ended, with what that one has left. Such a call needs no other check and
  /// no plan. Returns null if there was none like it: then post() does it.
  Result<Run*> post_again(const Call& call);
  /// Makes a call that post_again() would start, and returns once it has ended. Returns false if there was none like
  /// it, and the error if it has failed.
  Result<bool> call_again(const Call& call);
  /// Makes the run of a call without starting it. start() starts it, and may do so again each time it has ended. The
  /// run stays until release().
  Result<Run*> prepare(const Call& call, const Algorithm& algorithm);
  /// Starts a prepared run as post() would. On an error nothing was sent, and it may be tried again.
  Status start(Run& run);
  /// Starts one side of a message. On an error nothing was sent or taken.
  Result<Run*> post(const Send& message);
  Result<Run*> post(const Receive& message);
  /// Starts both messages. They are one batch, whose first run is that of the receive.
  Result<Run*> post(const Send& out, const Receive& in);
  /// Starts all messages of an exchange. Returns null if there are no neighbours.
  Result<Run*> post(const Exchange& exchange);
  /// Returns ok, or why post() would refuse this exchange whatever the state of the communicator is.
  Status check(const Exchange& exchange) const;
  /// Makes progress, and returns how many bytes the message has that the next receive from this rank with this tag
  /// would take; nothing if none has come.
  Result<std::optional<std::size_t>> probe(Rank from, int tag);
  /// What a run that ended without an error has left out. The report is empty if the call has no method, or if its plan
  /// reports nothing (Plan::reports).
  Report report(const Run& run) const;
  /// How many bytes a finished receive has taken.
  std::size_t received(const Run& run) const;
  /// The rank whose message a finished receive has taken, or any_rank.
  Rank source(const Run& run) const;

  /// Makes progress. Has the run ended?
  bool test(Run& run);
  // test(), wait(), reclaimed() and release() take the first run of a batch and serve all of it.

  /// Waits until the run ends, or for `timeout` at most: then it returns TimedOut, and the run goes on. After a failure
  /// it waits until the transport no longer uses the buffers, for reclaim_grace at most; if they are still in use then,
  /// the status says so.
  Status wait(Run& run, std::chrono::microseconds timeout = never);
  /// wait() without a timeout, and release().
  Status finish(Run& run);
  bool has_ended(const Run& run) const;
  /// True when the transport no longer touches the run's buffers.
  bool reclaimed(const Run& run) const;
  /// The caller needs the run no more. It is recycled once the transport no longer uses its buffers.
  void release(Run& run);

  /// Poisons this communicator: every unfinished run ends with this status, and every later post returns it.
  void fail(const Status& verdict);

  // The executor calls these under its lock.

  const std::shared_ptr<const Graph>& graph(const ActivePart& part) override;
  void report(const ActivePart& part) override;
  void add_measures(CollectiveRun& run, const MeasureValues& told) const override;
  std::optional<PartPlan> next_of(const ActivePart& part) const override;
  void ended(Run& run, std::uint64_t now) override;
  std::string text_of(const Run& run) const override;
  CommunicatorCounters counters(const TickScale::Line& scale) const override;
  void restart_measures() override;

 private:
  /// One side of a message; `peer` is a rank of this communicator, and `tag` is the one that travels.
  struct Message {
    RunKind kind = RunKind::Send;
    void* data = nullptr;
    std::size_t count = 0;
    Dtype dtype = Dtype::F32;
    Rank peer = 0;
    std::uint32_t tag = 0;
    Memory memory = {};
    const MessageOptions& options;
  };

  static Message side_of(const Send& message);
  static Message side_of(const Receive& message);
  /// Visits the messages of an exchange in the order in which they begin.
  template <class Visit>
  static void each_message(const Exchange& exchange, const Visit& visit);
  /// Starts the messages that `each` visits, all of which have been checked.
  template <class Each>
  Result<Run*> post_batch(std::size_t count, const Each& each);
  template <class Each>
  Run* make_batch(const Each& each);
  static Status check_deadline(std::chrono::milliseconds deadline);
  /// Checks the peer and the tag. Error texts begin with `what`, such as "send to".
  Status check_name(std::string_view what, Rank peer, int tag) const;
  /// Returns ok, or why this message can't be. Its caller knows it by `tag`.
  Status check(const Message& message, int tag) const;
  void fill(MessageRun& run, const Message& message);
  void add_numbered(Run& first);
  void give_back_batch(Run* first);

  // Calls with aggregators (communicator_aggregators.cpp)
  bool announces(const CollectiveRun& run) const { return run.aggregators > 0 && rank() == 0; }
  /// Returns ok, or why the call of this run can't be announced now.
  Status may_announce(const CollectiveRun& run) const;
  void announce(const CollectiveRun& run);
  void begin_alone(Rank to, int tag, const std::shared_ptr<const std::vector<std::byte>>& bytes);
  static void reset(Run& run);
  /// The name of the run for the tools of Kokkos. It is empty if there are no tools.
  static std::string name_for_tools(const Run& run);
  static void show_to_tools(Run& run);
  std::string text_of_message(const MessageRun& run) const;

  /// How many calls of one kind have been started, and how they ended.
  struct CallTally {
    std::uint64_t started = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
    std::uint64_t ticks = 0;  ///< the time from start to end of each call, added up
  };

  Status check(const Call& call) const;
  /// Returns ok, or why this call can't start now.
  Status may_start(const Call& call, const Algorithm& algorithm) const;
  /// How many aggregators take part in the call, or why it can't start without them.
  Result<Rank> aggregators_for(const Call& call, const Algorithm& algorithm) const;
  void fill(CollectiveRun& run, const Call& call, const Algorithm& algorithm, Rank aggregators);
  static void fill(CollectiveRun& run, const Options& options);
  std::size_t bytes_of_buffers(const CollectiveRun& run) const;

  // What other ranks of the host read where it lies (communicator_in_place.cpp)
  /// Can they map the output of this call, and is it a long call without a method? `bytes`: of its buffers.
  bool may_read_output(const CollectiveRun& run, std::size_t bytes) const;
  /// Is it worth to send them copies, because they can't map the caller's buffers and the messages are long?
  bool wants_copies(const CollectiveRun& run, const Algorithm& algorithm) const;
  /// Is the memory that copies of its parts need within bounds?
  bool may_copy_parts(const CollectiveRun& run) const;

  // How a run starts (communicator_ready.cpp)
  CollectiveRun* take_filled(const Call& call, const Algorithm& algorithm, Rank aggregators);
  Status try_to_start(CollectiveRun& run, Executor::Lock& lock);
  Status start_or_give_back(CollectiveRun& run, Executor::Lock& lock);
  Result<Run*> start_kept(const Call& call, Executor::Lock& lock);
  void launch(CollectiveRun& run);
  void give_back(Run& run);
  /// Plans the run, and makes the graphs and arrays that the plan needs and that are not there yet. The lock is free
  /// while these are made. Returns ok, or why the run can't start; then nothing has been numbered or drawn.
  Status make_ready(CollectiveRun& run, Executor::Lock& lock);
  bool plan(CollectiveRun& run);
  void make_part(CollectiveRun& run, std::uint32_t number, GraphCache& made) const;
  /// The sampler from which a call with these options draws.
  Sampler& sampler_of(const Options& options);
  static const Algorithm& program_of(const CollectiveRun& run, const PartPlan& part);

  // Calls with a method (communicator_methods.cpp)
  /// Returns ok, or why the method or the state of the call does not allow it to start now.
  Status check_method(const Call& call, const Algorithm& algorithm) const;
  /// Makes the report of a run whose plan is made, and what the run needs of its state.
  void prepare_method(CollectiveRun& run);
  /// Draws for a run that has its number, and marks its state as in use.
  void begin_method(CollectiveRun& run);
  void end_method(CollectiveRun& run);
  void count_report(const CollectiveRun& run);
  PartCost cost(const ActivePart& part);
  const PartCost& dense_cost(const ActivePart& part);

  PlanRequest plan_request(const CollectiveRun& run) const;
  GraphShape graph_shape(const Algorithm& program, const Structure& structure, const Order& order) const;
  GraphShape graph_shape(const CollectiveRun& run, const PartPlan& part, const Order& order) const {
    const Algorithm& program = program_of(run, part);
    const bool maps_copies = run.maps_copies && program.maps_copies;
    return graph_shape(program, structure_of_call(part.structure, run.in_place, maps_copies), order);
  }
  CallTally& tally(const Run& run);
  Status reclaim(const Run& run, const Status& status, Clock::time_point until);

  Executor& executor_;
  const Hosts all_hosts_;         // of the ranks and of the aggregators
  Communicator* hall_ = nullptr;  // null: no call uses aggregators
  GraphCache graphs_;
  CostCache costs_;
  std::array<CallTally, all_collectives.size()> calls_{};  // by collective
  CallTally sends_, receives_;
  std::vector<MethodCounters> methods_;
  Sampler sampler_;  // for random calls without a sampler
};

}  // namespace lacuna::runtime
