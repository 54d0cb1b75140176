#include <fmt/format.h>

#include <new>

#include "runtime/communicator/communicator.hpp"

// Before a run starts: its plan, and what that needs and may take long to make. These are graphs, and arrays of the
// state. They are made while the lock is free, so that the other calls of this rank go on.
namespace lacuna::runtime {
namespace {

/// Lets go of the lock for as long as it lives. Meanwhile no other call may have the state.
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

/// The plan of the run's next start, and of each part where this rank stands in it and its graph, if that is known.
void Communicator::plan(CollectiveRun& run) {
  make_plan({run.call, *run.algorithm, hosts_, executor_.options().chunk_bytes}, run.plan);
  run.parts = static_cast<std::uint32_t>(run.plan.parts.size());
  run.sampler = run.plan.draws ? sampler_of(run.call.options) : Sampler();
  if (run.ready.size() < run.parts) run.ready.resize(run.parts);
  for (std::uint32_t number = 0; number < run.parts; ++number) {
    const PartPlan& part = run.plan.parts[number];
    ReadyPart& ready = run.ready[number];
    ready.order = order_of({run.call, *run.algorithm, hosts_, run.sampler}, part);
    const auto* graph = graphs_.find(program_of(run, part), graph_shape(run, part, ready.order));
    // Nearly always the graph of the last time: counting its owners would cost more than to compare.
    if (!graph) {
      ready.graph.reset();
    } else if (ready.graph != *graph) {
      ready.graph = *graph;
    }
  }
}

bool Communicator::lacks_something(const CollectiveRun& run) const {
  const MethodState* state = run.call.options.state;
  return std::any_of(run.ready.begin(), run.ready.begin() + run.parts,
                     [&](const ReadyPart& part) { return !part.graph || (state && lacks_array(*part.graph, *state)); });
}

/// Makes the graph of a part and what arrays it wants. The lock is free; nobody else has the run or its state.
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
  part.group = &group_;
  part.order = ready.order;
  part.position = part.order.position_of(rank_);
  cut(part);
  make_arrays(part);
}

Status Communicator::make_ready(CollectiveRun& run, Executor::Lock& lock) {
  plan(run);
  if (!lacks_something(run)) return {};
  GraphCache made;
  Status status;
  {
    const LockLentOut lent(lock, run.call.options.state);
    try {
      for (std::uint32_t number = 0; number < run.parts; ++number) make_part(run, number, made);
    } catch (const std::bad_alloc&) {
      status = {Code::Internal, fmt::format("rank {} is out of memory", executor_.rank())};
    } catch (const std::exception&) {
      // What is wrong with the program or its arrays is told where the part begins: it concerns all ranks.
    }
  }
  graphs_.take(std::move(made));
  if (status) status = may_start(run.call, *run.algorithm);
  if (status) plan(run);  // another call may have started meanwhile
  return status;
}

}  // namespace lacuna::runtime
