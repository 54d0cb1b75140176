#include "runtime/engine/executor.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/reduce.hpp"
#include "runtime/communicator/communicator.hpp"

namespace lacuna::runtime {

void Executor::begin(Run& run) {
  start_clock(run);
  record_.tick();
  run.posted = record_.ticks();
  record_.add({.run = run.number, .kind = FlightRecord::Kind::Posted});
  if (tracer_) tracer_->call_posted(run);
  serving_ = run.communicator;
  guarded([&] {
    if (run.kind != RunKind::Collective) return begin_message(run);
    while (run.next_part < run.parts && run.active.size() < options_.parts_in_flight) activate_part(run);
  });
  settle();
  after_handlers();
  wake();
}

ActivePart& Executor::add_part(Run& run) {
  if (run.spare.empty()) run.spare.push_back(std::make_unique<ActivePart>());
  run.active.push_back(std::move(run.spare.back()));
  run.spare.pop_back();
  ActivePart& part = *run.active.back();
  part.run = &run;
  part.number = run.next_part++;
  part.group = &run.communicator->group();
  return part;
}

/// What a part needs before its first step starts; its graph and its share of the data stand.
void Executor::prepare(ActivePart& part) {
  const Graph& graph = *part.graph;
  part.waits.assign(graph.predecessor_counts().begin(), graph.predecessor_counts().end());
  part.states.assign(graph.steps().size(), {});
  part.remaining = static_cast<std::uint32_t>(graph.steps().size());
  part.scratch_bytes = graph.scratch_slots() * part.count * size_of(part.run->call.dtype);
  if (part.scratch_bytes > 0) part.scratch = blocks_.take(part.scratch_bytes);
}

void Executor::give_back_memory(ActivePart& part) {
  if (part.scratch) blocks_.give_back(std::exchange(part.scratch, nullptr), part.scratch_bytes);
  if (part.packed) {
    blocks_.give_back(std::exchange(part.packed, nullptr), part.count * size_of(part.run->call.dtype));
  }
}

void Executor::activate_part(Run& run) {
  ActivePart& part = add_part(run);
  part.order = order_of({run.call, *run.algorithm, run.communicator->hosts(), run.sampler}, run.plan, part.number);
  part.position = part.order.position_of(run.communicator->rank());
  // Nearly always the graph of the last time: counting its owners would cost more than to compare.
  if (const auto& planned = run.communicator->graph(run, structure_of(run, part.number), part.order);
      part.graph != planned) {
    part.graph = planned;
  }
  cut(part);
  if (run.plan.reports) run.communicator->report(part);
  prepare(part);
  if (is_packed(run, part.number)) {
    part.packed = blocks_.take(part.count * size_of(run.call.dtype));
    pack(part);
  }
  adopt_early_messages(part);
  for (StepId root : part.graph->roots()) ready_.push(run.call.options.priority, {&part, root});
  if (part.remaining == 0) finish_part(part);
}

void Executor::settle() {
  while (true) {
    if (Fifo<StepOf>* lane = ready_.next()) {
      const StepOf next = lane->pop();
      serving_ = next.part->run->communicator;
      if (!is_doomed(*serving_)) guarded([&] { start(*next.part, next.step); });
    } else if (links_.needs_pump()) {
      const Rank peer = links_.take_pump();
      serving_ = nullptr;
      guarded([&] {
        start_sends(peer);
        start_fetches(peer);
        return_credit(peer);
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
      return start_send(part, step);
    case StepKind::Receive:
    case StepKind::ReceiveReduce:
      return start_receive(part, step);
    case StepKind::Copy:
    case StepKind::Reduce:
    case StepKind::Clear:
      compute(part, step);
      return complete(part, step);
  }
}

void Executor::compute(ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  const Call& call = part.run->call;
  const Extent to = resolve(part, step.to);
  if (step.kind == StepKind::Clear) {
    if (to.count > 0) std::memset(to.data, 0, to.count * size_of(call.dtype));
    return;
  }
  const Extent from = resolve(part, step.from);
  if (step.kind == StepKind::Reduce) {
    return kernels::reduce(call.dtype, call.reduction, {}, to.data, to.data, from.data, to.count);
  }
  std::size_t count = to.count;
  if (std::size_t* told = told_length(part, step.to); told && step.from != step.to) {
    count = *told = std::min(from.count, to.count);
  }
  kernels::copy(call.dtype, scale_of(part, step), to.data, from.data, count);
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
  Run& run = *part.run;
  if (part.packed) unpack(part);
  give_back_memory(part);
  const auto at = std::find_if(run.active.begin(), run.active.end(), [&](const auto& p) { return p.get() == &part; });
  run.spare.push_back(std::move(*at));
  run.active.erase(at);
  ++run.parts_done;
  if (run.next_part < run.parts) {
    activate_part(run);
  } else if (run.parts_done == run.parts) {
    finish_run(run, Status::ok());
  }
}

void Executor::finish_run(Run& run, const Status& status) {
  record_.add({.run = run.number, .kind = status ? FlightRecord::Kind::Finished : FlightRecord::Kind::Failed});
  run.finished = call_has_ended_ = true;
  run.status = status;
  if (tracer_) tracer_->call_ended(run);
  if (run.call.options.notify) {
    finished_.push({*run.call.options.notify, status});
    signal(finished_fd_);
  }
  run.communicator->ended(run, record_.ticks());
  if (--unfinished_ == 0) next_duty_ = Clock::time_point::max();
  if (options_.progress_thread) {
    ended_.notify_all();
    wake_loop();
  }
  if (run.operations == 0) let_go(run);
}

void Executor::abandon(Run& run) {
  run.abandoned = true;
  if (run.finished && run.operations == 0) let_go(run);
}

void Executor::let_go(Run& run) {
  if (run.prepared && !run.abandoned) return;  // it may be started again
  if (run.call.options.keep_alive) {
    let_go_.push_back(std::move(run.call.options.keep_alive));
    deferred_.store(true, std::memory_order_relaxed);
  }
  if (run.abandoned) recycle(run);
}

void Executor::recycle(Run& run) {
  for (auto& part : run.active) {
    give_back_memory(*part);
    run.spare.push_back(std::move(part));
  }
  run.active.clear();
  run.prepared = false;
  run.method = nullptr;
  run.call.options.method = {};
  run.call.options.state = nullptr;
  run.plan.clear();
  runs_.give_back(&run);
}

}  // namespace lacuna::runtime
