#include "runtime/engine/scheduler.hpp"

#include <fmt/format.h>

#include "runtime/engine/client.hpp"

namespace lacuna::runtime {

Scheduler::Scheduler(const Engine& engine)
    : engine_(engine),
      stages_(engine.memory),
      operations_(engine.links, *this),
      computing_({engine.options, engine.kernels, engine.memory, engine.device, engine.record, engine.failures, *this}),
      boards_(
          {engine.options, engine.kernels, engine.alarms, engine.record, engine.failures, stages_, computing_, *this},
          engine.size),
      outgoing_({engine.options, engine.transport, engine.links, operations_, stages_, computing_, engine.device,
                 engine.record, engine.tracer, engine.failures, *this}),
      incoming_({engine.options, engine.rank, engine.kernels, engine.transport, engine.links, operations_,
                 engine.memory, engine.landings, engine.discards, stages_, computing_, engine.device, engine.record,
                 engine.failures, *this}) {}

void Scheduler::settle() {
  while (true) {
    if (Fifo<StepOf>* lane = ready_.next()) {
      const StepOf next = lane->pop();
      Client* const communicator = next.part->run->communicator;
      if (!engine_.failures.is_doomed(*communicator))
        engine_.failures.serve(communicator, [&] { start(*next.part, next.step); });
    } else if (engine_.links.needs_pump()) {
      const Rank peer = engine_.links.take_pump();
      engine_.failures.serve(nullptr, [&] {
        outgoing_.start_sends(peer);
        incoming_.start_fetches(peer);
        outgoing_.return_credit(peer);
      });
    } else {
      return;
    }
  }
}

void Scheduler::start(ActivePart& part, StepId step) {
  part.states[step].started = true;
  if (engine_.tracer) engine_.tracer->step_started(part, step);
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
      give_back(part.buffer(part.graph->steps()[step].to), engine_.memory);
      return complete(part, step);
    case StepKind::BoardReduce:
      return boards_.start(part, step);
  }
}

void Scheduler::complete(ActivePart& part, StepId step) {
  part.states[step].ended = true;
  if (engine_.tracer) engine_.tracer->step_ended(part, step);
  for (StepId next : part.graph->successors(step)) {
    if (--part.waits[next] == 0) ready_.push(part.run->call.options.priority, {&part, next});
  }
  if (--part.remaining == 0) finish_part(part);
}

void Scheduler::end_work(const Work& work) {
  const auto [part, id] = work.step;
  Run& run = *part->run;
  const std::size_t received = work.kernel ? 0 : work.computation.from.bytes();
  if (!work.kernel) incoming_.release(work.holder, received);
  --run.operations;
  Stage* const stage = work.kernel ? nullptr : work.holder.stage;
  if (stage && (run.finished || !work.status)) stages_.release(*stage);
  if (run.finished) {  // it has failed
    if (run.operations == 0) free(run);
    return;
  }
  if (!work.kernel && !work.status) return device_failed(work);
  if (stage) return part->graph->steps()[id].sends() ? outgoing_.end_stage(work) : boards_.end_copy(work);
  if (part->graph->steps()[id].receives()) return incoming_.end_work(work.step, received);
  if (work.kernel) {
    CollectiveRun& call = as_collective(run);
    if (!work.status) return kernel_failed(call, work);
    const auto& defines = part->graph->kernel(part->graph->steps()[id]).defines;
    for (std::size_t i = 0; i < defines.size(); ++i) {
      part->values[static_cast<std::size_t>(defines[i])] = work.defines[i];
    }
    run.communicator->add_measures(call, work.measures);
  }
  complete(*part, id);
}

/// The device could not do what it was given. No other rank can know, so the communicator fails on all of them.
void Scheduler::device_failed(const Work& work) {
  const Run& run = *work.step.part->run;
  std::string text = fmt::format("rank {}: {}", engine_.rank, work.status.message());
  if (run.kind == RunKind::Collective) {
    return engine_.failures.report(*run.communicator, Trouble::Kind::Mismatch, as_collective(run).number,
                                   std::move(text));
  }
  engine_.failures.report_message(as_message(run), Trouble::Kind::Mismatch, as_message(run).peer, text);
}

/// A kernel may refuse what this rank's own caller has given it. Other ranks must hear of it, as they wait for what the
/// kernel would have made. If there are no other ranks, only the call ends.
void Scheduler::kernel_failed(CollectiveRun& call, const Work& work) {
  const bool refused = work.status.code() == Code::InvalidArgument;
  std::string text = fmt::format("rank {}: {}: {}", engine_.rank, work.kernel->kernel->name, work.status.message());
  Client& communicator = *call.communicator;
  if (refused && call.hosts->size() == 1) return end_alone(call, {Code::InvalidArgument, std::move(text)});
  engine_.failures.report(communicator, refused ? Trouble::Kind::Refused : Trouble::Kind::Mismatch, call.number,
                          std::move(text));
}

void Scheduler::free(Run& run) {
  if (engine_.options.progress_thread) engine_.ended.notify_all();
  let_go(run);
}

void Scheduler::end_operations() {
  operations_.each_taken([&](Operation& one) { one.fetch ? incoming_.end(one, false) : outgoing_.end(one, false); });
}

}  // namespace lacuna::runtime
