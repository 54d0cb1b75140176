#include <new>

#include "runtime/communicator/communicator.hpp"
#include "runtime/engine/tables.hpp"

// How a run starts. First come its plan, and the graphs and arrays of the state that the plan needs. These may take
// long, so they are made while the lock is free, and the other calls of this rank go on. Then comes everything else
// that needs memory. At last the run is counted.
namespace lacuna::runtime {
namespace {

/// Frees the lock while this object lives. The state counts as in use meanwhile, so that no other call takes it.
class LockLentOut {
 public:
  LockLentOut(Executor::Lock& lock, MethodState* state) : lock_(lock), state_(state) {
    if (state_) state_->in_use = true;
    lock_.unlock();
  }
  ~LockLentOut() {
    lock_.lock();
    if (state_) state_->in_use = false;
  }
  LockLentOut(const LockLentOut&) = delete;
  LockLentOut& operator=(const LockLentOut&) = delete;

 private:
  Executor::Lock& lock_;
  MethodState* const state_;
};

}  // namespace

Sampler& Communicator::sampler_of(const Options& options) {
  if (options.sampler) return *options.sampler;
  return options.state ? options.state->sampler : sampler_;
}

const Algorithm& Communicator::program_of(const CollectiveRun& run, const PartPlan& part) {
  return part.program ? *part.program : *run.algorithm;
}

/// Makes the plan of the run's next start. For each part of it, finds where this rank stands and, if it is cached, the
/// graph. Returns false if a graph, or an array of the state that a graph names, is yet to be made.
bool Communicator::plan(CollectiveRun& run) {
  make_plan(plan_request(run), run.plan);
  run.maps_copies = run.wants_copies && may_copy_parts(run) && executor_.neighbours_map_copies(*this);
  run.parts = static_cast<std::uint32_t>(run.plan.parts.size());
  run.sampler = run.plan.draws ? sampler_of(run.call.options) : Sampler();
  if (run.ready.size() < run.parts) run.ready.resize(run.parts);
  const MethodState* state = run.call.options.state;
  bool complete = true;
  for (std::uint32_t number = 0; number < run.parts; ++number) {
    const PartPlan& part = run.plan.parts[number];
    ReadyPart& ready = run.ready[number];
    ready.active.reset();
    ready.order = order_of({run.call, *run.algorithm, *run.hosts, run.sampler}, part);
    const auto* graph = graphs_.find(program_of(run, part), graph_shape(run, part, ready.order));
    // This is nearly always the graph of the last start: to compare costs less than to count one owner more.
    if (!graph) {
      ready.graph.reset();
    } else if (ready.graph != *graph) {
      ready.graph = *graph;
    }
    complete = complete && graph && !(state && lacks_array(**graph, *state));
  }
  return complete;
}

/// Makes the graph of a part, and the arrays of the state that the graph names. It is called without the lock, while
/// nobody else uses the run or its state.
void Communicator::make_part(CollectiveRun& run, std::uint32_t number, GraphCache& made) const {
  const PartPlan& plan = run.plan.parts[number];
  ReadyPart& ready = run.ready[number];
  if (!ready.graph) ready.graph = made.get(program_of(run, plan), graph_shape(run, plan, ready.order));
  if (!run.call.options.state) return;
  run.state_run = run.call.options.state->runs + 1;
  ActivePart part;
  part.run = &run;
  part.plan = &plan;
  part.graph = ready.graph;
  part.group = &group();
  part.order = ready.order;
  part.position = part.order.position_of(rank());
  cut(part);
  make_arrays(part, executor_.memory());
}

/// Makes the graphs and arrays that plan() has not found.
Status Communicator::make_ready(CollectiveRun& run, Executor::Lock& lock) {
  GraphCache made;
  Status status;
  {
    const LockLentOut lent(lock, run.call.options.state);
    try {
      for (std::uint32_t number = 0; number < run.parts; ++number) make_part(run, number, made);
    } catch (const std::bad_alloc&) {
      status = executor_.out_of_memory();
    } catch (const std::exception&) {
      // A fault of the program or of its arrays is reported when the part begins, because it concerns all ranks.
    }
  }
  graphs_.take(std::move(made));
  if (status) status = may_start(run.call, *run.algorithm);
  if (status) plan(run);  // another call may have started meanwhile
  return status;
}

/// Returns a run of this call that is not started, or null if there is no memory for it.
CollectiveRun* Communicator::take_filled(const Call& call, const Algorithm& algorithm, Rank aggregators) {
  CollectiveRun* run = nullptr;
  try {
    run = &executor_.take_call();
    fill(*run, call, algorithm, aggregators);
    return run;
  } catch (const std::bad_alloc&) {
    if (run) give_back(*run);
    return nullptr;
  }
}

/// Numbers a run and starts it. On an error nothing of this communicator or of the state has changed.
Status Communicator::try_to_start(CollectiveRun& run, Executor::Lock& lock) {
  MethodState* state = run.call.options.state;
  const std::size_t arrays = state ? state->arrays.size() : 0;
  Status status;
  try {
    if (!run.laid_out && !plan(run)) status = make_ready(run, lock);
    if (status) status = may_announce(run);
    if (status) launch(run);
  } catch (const std::bad_alloc&) {
    status = executor_.out_of_memory();
  }
  if (status) return status;
  run.plan.writes_state = false;
  if (state) state->arrays.erase(state->arrays.begin() + static_cast<std::ptrdiff_t>(arrays), state->arrays.end());
  return status;
}

Status Communicator::start_or_give_back(CollectiveRun& run, Executor::Lock& lock) {
  Status started = try_to_start(run, lock);
  if (!started) give_back(run);
  return started;
}

/// First does all that needs memory, then counts the run. So std::bad_alloc is thrown before anything is counted.
void Communicator::launch(CollectiveRun& run) {
  run.next_part = run.parts_done = 0;
  run.chains.assign(run.method && run.method->follow ? run.parts : 0, {});
  if (run.method) prepare_method(run);
  executor_.prepare(run);
  try {
    if (announces(run)) announce(run);
    runs().add_call(run);
  } catch (...) {
    executor_.lay_aside_parts(run);
    throw;
  }
  if (run.algorithm->on_board && board()) run.first_turn = board()->take(run.parts);
  if (MethodState* state = run.call.options.state) ++state->runs;
  if (run.method) begin_method(run);
  tell_own_length(run, rank());
  reset(run);
  ++tally(run).started;
  executor_.begin(run);
}

/// Frees a run that does not start, so that it can serve other calls. It lets go of Options::keep_alive.
void Communicator::give_back(Run& run) {
  run.call.options.keep_alive.reset();
  run.finished = true;
  executor_.abandon(run);
}

}  // namespace lacuna::runtime
