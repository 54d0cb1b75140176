#include "runtime/engine/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <new>
#include <stdexcept>

#include "runtime/engine/batch.hpp"
#include "runtime/engine/client.hpp"

namespace lacuna::runtime {
namespace {

/// Is this part, which has ended, the same in the next start of its run? It is if it is the only one, uses no memory
/// but the caller's, and nothing about it is drawn. A run that wants copies is planned anew, because others may be able
/// to read them by then.
bool may_stay_laid_out(const CollectiveRun& run, const ActivePart& part) {
  const bool only_callers_memory = part.graph->tables().buffers.size() == 2;
  return run.parts == 1 && !run.method && !run.plan.draws && only_callers_memory && !run.wants_copies;
}

bool may_be_kept(const CollectiveRun& run) { return run.laid_out && run.status && KeptCalls::may_keep(run.call); }

}  // namespace

/// May Boards::meet() make this call? With a trace it may not, because a trace shows the steps of active parts.
bool Executor::may_meet(const CollectiveRun& run) const { return run.laid_out && run.only_step && !tracer_; }

void Executor::prepare(Run& run) {
  if (run.kind == RunKind::Collective && may_meet(as_collective(run))) return;
  try {
    run.flaw = nullptr;
    try {
      device_.mark_ready(run);
    } catch (const std::runtime_error&) {  // of the device
      run.flaw = std::current_exception();
    }
    if (run.kind == RunKind::Send) make_message_part(as_message(run));
    if (run.kind == RunKind::Collective) make_first_parts(as_collective(run));
  } catch (...) {
    lay_aside_parts(run);
    throw;
  }
}

/// Makes the parts that begin first. If a program or its arrays are wrong, that is told when the run begins, because it
/// concerns all ranks.
void Executor::make_first_parts(CollectiveRun& run) {
  std::size_t roots = 0;
  try {
    if (run.laid_out) {
      ActivePart& part = add_planned_part(run);
      renew(part);
      roots = part.graph->roots().size();
    }
    run.in_flight = parts_in_flight(run);
    while (has_next_part(run)) roots += make_part(run).graph->roots().size();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    run.flaw = std::current_exception();
  }
  ready_.reserve(run.call.options.priority, roots);
}

/// All of a batch is noted before any of it begins. If beginning one of them fails, all of them end. Only a row is
/// written before that, because the others wait for it. It travels while its call is noted.
void Executor::begin(Run& first) {
  const bool may_end_at_once = first.kind == RunKind::Collective && may_meet(as_collective(first));
  const bool is_meeting = may_end_at_once && boards_.begin_meeting(as_collective(first));
  const bool unfinished = deadlines_.has_runs();
  record_.tick();
  absence_.start_call(record_.ticks(), unfinished);
  for (Run* run = &first; run; run = run->next) {
    deadlines_.begin(*run);
    run->posted = record_.ticks();
    record_.add({.run = number_or_tag(*run), .kind = FlightRecord::Kind::Posted});
  }
  failures_.serve(first.communicator, [&] {
    for (Run* run = &first; run && tracer_; run = run->next) tracer_->call_posted(*run);
    if (is_meeting && boards_.meet(as_collective(first))) return finish_run(first, Status::ok());
    if (may_end_at_once) make_first_parts(as_collective(first));
    for (Run* run = &first; run; run = run->next) {
      if (run->flaw) std::rethrow_exception(std::exchange(run->flaw, nullptr));
    }
    if (first.kind == RunKind::Collective) return begin_call(as_collective(first));
    for (Run* run = &first; run; run = run->next) begin_message(as_message(*run));
  });
  settle();
  after_handlers();
  if (first.finished && !options_.progress_thread && is_neglected()) progress_locked();
  wake();
}

void Executor::begin_call(CollectiveRun& run) {
  const std::uint32_t made = run.next_part;  // starting a part without steps may make more
  for (std::uint32_t number = 0; number < made; ++number) start_part(*run.find(number));
}

ActivePart& Executor::add_part(Run& run) {
  if (run.spare.empty()) run.spare.emplace_back();
  run.active.splice(run.active.end(), run.spare, run.spare.begin());
  ActivePart& part = run.active.back();
  part.run = &run;
  part.group = &run.communicator->group();
  return part;
}

/// Adds the next part of the plan to those in flight.
ActivePart& Executor::add_planned_part(CollectiveRun& run) {
  ActivePart& part = add_part(run);
  part.number = run.next_part++;
  run.ready[part.number].active = std::prev(run.active.end());
  return part;
}

/// Sets a part to the state in which none of its steps has started.
void Executor::renew(ActivePart& part) {
  const Graph& graph = *part.graph;
  part.waits.assign(graph.predecessor_counts().begin(), graph.predecessor_counts().end());
  part.states.assign(graph.steps().size(), {});
  part.remaining = static_cast<std::uint32_t>(graph.steps().size());
  part.values.assign(graph.tables().values.size(), 0);
}

/// Makes what a part needs before its first step starts. Its graph and its share of the data must be set.
void Executor::lay_out_part(ActivePart& part) {
  renew(part);
  lay_out(part, memory_);
}

std::uint32_t Executor::parts_in_flight(const CollectiveRun& run) const {
  const Plan& plan = run.plan;
  if (plan.in_flight == 0 && run.maps_copies && run.hosts->count() == 1) return parts_with_copies(run);
  if (plan.in_flight == 0) return options_.parts_in_flight * (run.mappable ? more_mappable_parts : 1);
  if (plan.in_flight <= most_parts_in_flight) return plan.in_flight;
  throw std::length_error(fmt::format("the plan asks for {} parts in flight, at most {} are allowed", plan.in_flight,
                                      most_parts_in_flight));
}

/// So few parts that the copies of all of them stay in the caches until the others have read them.
std::uint32_t Executor::parts_with_copies(const CollectiveRun& run) const {
  const std::size_t bytes = run.plan.parts.front().data.count * size_of(run.call.dtype);
  const auto fitting = static_cast<std::uint32_t>(bytes_of_copies / std::max<std::size_t>(bytes, 1));
  return std::clamp<std::uint32_t>(fitting, 1, options_.parts_in_flight);
}

bool Executor::neighbours_map_copies(const Client& communicator) {
  if (!probe_) probe_ = memory_.of(MemoryKind::Host, true).take(1);
  const Hosts& hosts = communicator.hosts();
  const Rank host = hosts.host_of(communicator.rank());
  bool all = true;
  for (Rank member = 0; member < communicator.size(); ++member) {
    if (member == communicator.rank() || hosts.host_of(member) != host) continue;
    const auto peer = static_cast<Peer>(communicator.group().process_of(member));
    all = transport_->is_mapped_by(peer, {probe_, 1}) && all;
  }
  return all;
}

/// Can the next part of the plan begin? There must be one, and it must not wait for the parts before it.
bool Executor::has_next_part(const CollectiveRun& run) const {
  return run.next_part < run.parts && run.active.size() < run.in_flight &&
         !(run.plan.parts[run.next_part].waits && run.parts_done < run.next_part);
}

/// Makes the next part of the plan without starting it.
ActivePart& Executor::make_part(CollectiveRun& run) {
  ActivePart& part = add_planned_part(run);
  part.plan = &run.plan.parts[part.number];
  part.greets = part.plan->draw == 0 && !part.plan->beside;
  ReadyPart& ready = run.ready[part.number];
  part.order = std::move(ready.order);
  make_part(part, ready.graph);
  return part;
}

/// Makes a part whose plan and order are set. `known` is its graph, or null.
void Executor::make_part(ActivePart& part, const std::shared_ptr<const Graph>& known) {
  const Client& communicator = *part.run->communicator;
  part.position = part.order.position_of(communicator.rank());
  const std::shared_ptr<const Graph>& graph = known ? known : part.run->communicator->graph(part);
  if (part.graph != graph) part.graph = graph;
  cut(part);
  lay_out_part(part);
}

/// Starts a part of the plan. Its run must have its number by now.
void Executor::start_part(ActivePart& part) {
  part.digest = collective_of(part).digest;
  start_steps(part);
}

void Executor::start_steps(ActivePart& part) {
  CollectiveRun& run = collective_of(part);
  if (!run.chains.empty()) ++run.chains[part.number % run.parts].length;
  adopt_early_messages(part);
  for (StepId root : part.graph->roots()) ready_.push(run.call.options.priority, {&part, root});
  if (part.remaining == 0) finish_part(part);
}

void Executor::settle() {
  while (true) {
    if (Fifo<StepOf>* lane = ready_.next()) {
      const StepOf next = lane->pop();
      Client* const communicator = next.part->run->communicator;
      if (!failures_.is_doomed(*communicator)) failures_.serve(communicator, [&] { start(*next.part, next.step); });
    } else if (links_.needs_pump()) {
      const Rank peer = links_.take_pump();
      failures_.serve(nullptr, [&] {
        outgoing_.start_sends(peer);
        incoming_.start_fetches(peer);
        outgoing_.return_credit(peer);
      });
    } else {
      return;
    }
  }
}

void Executor::start(ActivePart& part, StepId step) {
  part.states[step].started = true;
  if (tracer_) tracer_->step_started(part, step);
  switch (part.graph->steps()[step].kind) {
    case StepKind::Send:
      return outgoing_.start(part, step);
    case StepKind::Receive:
    case StepKind::ReceiveReduce:
      return incoming_.start(part, step);
    case StepKind::Copy:
    case StepKind::Reduce:
    case StepKind::Clear:
      return computing_.start(part, step);
    case StepKind::Kernel:
      return computing_.start_kernel(part, step);
    case StepKind::Release:
      give_back(part.buffer(part.graph->steps()[step].to), memory_);
      return complete(part, step);
    case StepKind::BoardReduce:
      return boards_.start(part, step);
  }
}

void Executor::complete(ActivePart& part, StepId step) {
  part.states[step].ended = true;
  if (tracer_) tracer_->step_ended(part, step);
  for (StepId next : part.graph->successors(step)) {
    if (--part.waits[next] == 0) ready_.push(part.run->call.options.priority, {&part, next});
  }
  if (--part.remaining == 0) finish_part(part);
}

void Executor::finish_part(ActivePart& part) {
  give_back_memory(part, memory_);
  if (part.run->kind != RunKind::Collective) {
    part.run->lay_aside(part.run->active.begin());
    return finish_run(*part.run, Status::ok());
  }
  CollectiveRun& run = collective_of(part);
  if (run.plan.reports) run.communicator->report(part);
  if (!run.chains.empty() && follow(part)) return;
  if (!run.laid_out && may_stay_laid_out(run, part)) {
    run.laid_out = true;
    run.only_step = Boards::only_step(run, part);
  }
  run.lay_aside(*std::exchange(run.row_of(part.number).active, std::nullopt));
  if (++run.parts_done == run.parts) return finish_run(run, Status::ok());
  while (has_next_part(run)) start_part(make_part(run));
}

/// Replaces a part that has ended by the one that follows it. Returns false if none does.
bool Executor::follow(ActivePart& part) {
  CollectiveRun& run = collective_of(part);
  const std::optional<PartPlan> next = run.communicator->next_of(part);
  Chain& chain = run.chains[part.number % run.parts];
  if (!next) {
    chain.ended = true;
    refuse_early_messages(part);
    return false;
  }
  if (run.parts > std::numeric_limits<std::uint32_t>::max() - part.number) {
    throw std::length_error(fmt::format("part {} is followed by more parts than can be numbered", part.number));
  }
  part.followed = *next;
  part.plan = &part.followed;
  part.number += run.parts;
  part.greets = false;
  part.digest = digest_after(part.digest, *part.plan);
  part.order = order_of({run.call, *run.algorithm, *run.hosts, run.sampler}, *part.plan);
  make_part(part, nullptr);
  start_steps(part);
  return true;
}

void Executor::finish_run(Run& run, const Status& status) {
  record_.add({.run = number_or_tag(run), .kind = status ? FlightRecord::Kind::Finished : FlightRecord::Kind::Failed});
  run.finished = true;
  alarms_.note_end();
  run.status = status;
  device_.release_streams(run);
  if (tracer_) tracer_->call_ended(run);
  const Run& first = run.first ? *run.first : run;
  if (run.call.options.notify && has_ended(first)) alarms_.push({*run.call.options.notify, outcome(first)});
  run.communicator->ended(run, record_.ticks());
  deadlines_.end();
  if (options_.progress_thread) {
    ended_.notify_all();
    alarms_.wake_loop();
  }
  if (run.operations > 0) return;
  run.settle(true);
  let_go(run);
}

void Executor::free(Run& run) {
  if (options_.progress_thread) ended_.notify_all();
  let_go(run);
}

void Executor::abandon(Run& run) {
  run.abandoned = true;
  if (run.finished && run.operations == 0) let_go(run);
}

/// Cleans up after a run that has ended, once the transport and kernels have let go of its memory.
void Executor::let_go(Run& run) {
  if (!run.active.empty()) lay_aside_parts(run);
  const bool is_call = run.kind == RunKind::Collective;
  if (is_call && std::exchange(as_collective(run).plan.writes_state, false)) run.call.options.state->in_use = false;
  if (is_call && as_collective(run).prepared && !run.abandoned) return;  // it may be started again
  if (run.call.options.keep_alive) deferred_.add(std::move(run.call.options.keep_alive));
  if (run.abandoned) recycle(run);
}

/// Lays aside the parts that a failed run has left.
void Executor::lay_aside_parts(Run& run) {
  for (ActivePart& part : run.active) give_back_memory(part, memory_);
  run.spare.splice(run.spare.begin(), run.active);
}

/// Keeps an unused run for a call like its last one, or makes it an empty one.
void Executor::recycle(Run& run) {
  device_.forget(run);
  if (run.kind != RunKind::Collective) {
    run.first = run.next = nullptr;
    return messages_.give_back(&as_message(run));
  }
  CollectiveRun& call = as_collective(run);
  call.prepared = false;
  CollectiveRun* const unneeded = may_be_kept(call) ? call.communicator->kept().keep(call) : &call;
  if (unneeded) empty(*unneeded);
}

void Executor::empty(CollectiveRun& call) {
  call.laid_out = false;
  call.method = nullptr;
  call.call.options.method = {};
  call.call.options.state = nullptr;
  call.plan.clear();
  for (RunMemory& one : call.memory) one.give_back();
  call.memory.clear();
  calls_.give_back(&call);
}

}  // namespace lacuna::runtime
