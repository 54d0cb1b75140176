#include <fmt/format.h>

#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

#include "runtime/engine/batch.hpp"
#include "runtime/engine/client.hpp"
#include "runtime/engine/message_tags.hpp"
#include "runtime/engine/scheduler.hpp"

namespace lacuna::runtime {
namespace {

bool may_be_kept(const CollectiveRun& run) { return run.laid_out && run.status && KeptCalls::may_keep(run.call); }

}  // namespace

/// May Boards::meet() make this call? With a trace it may not, because a trace shows the steps of active parts.
bool Scheduler::may_meet(const CollectiveRun& run) const { return run.laid_out && run.only_step && !engine_.tracer; }

void Scheduler::prepare(Run& run) {
  if (run.kind == RunKind::Collective && may_meet(as_collective(run))) return;
  try {
    run.flaw = nullptr;
    try {
      engine_.device.mark_ready(run);
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
void Scheduler::make_first_parts(CollectiveRun& run) {
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
void Scheduler::begin(Run& first) {
  const bool may_end_at_once = first.kind == RunKind::Collective && may_meet(as_collective(first));
  const bool is_meeting = may_end_at_once && boards_.begin_meeting(as_collective(first));
  const bool unfinished = engine_.deadlines.has_runs();
  engine_.record.tick();
  engine_.absence.start_call(engine_.record.ticks(), unfinished);
  for (Run* run = &first; run; run = run->next) {
    engine_.deadlines.begin(*run);
    run->posted = engine_.record.ticks();
    engine_.record.add({.run = number_or_tag(*run), .kind = FlightRecord::Kind::Posted});
  }
  engine_.failures.serve(first.communicator, [&] {
    for (Run* run = &first; run && engine_.tracer; run = run->next) engine_.tracer->call_posted(*run);
    if (is_meeting && boards_.meet(as_collective(first))) return end(first, Status::ok());
    if (may_end_at_once) make_first_parts(as_collective(first));
    for (Run* run = &first; run; run = run->next) {
      if (run->flaw) std::rethrow_exception(std::exchange(run->flaw, nullptr));
    }
    if (first.kind == RunKind::Collective) return begin_call(as_collective(first));
    for (Run* run = &first; run; run = run->next) begin_message(as_message(*run));
  });
  settle();
}

void Scheduler::begin_call(CollectiveRun& run) {
  const std::uint32_t made = run.next_part;  // starting a part without steps may make more
  for (std::uint32_t number = 0; number < made; ++number) start_part(*run.find(number));
}

void Scheduler::begin_message(MessageRun& run) {
  if (run.kind == RunKind::Send) {
    ActivePart& part = run.active.front();
    part.digest = run.number;
    start(part, 0);
  } else if (Landing* message = run.communicator->matching().expect(run)) {
    receive_landed({&run, message});
  }
}

/// Begins a receive whose message has arrived, at least in part.
void Scheduler::receive_landed(const Matching::Met& met) {
  MessageRun& run = *met.receive;
  Landing* message = met.message;
  if (const Status fit = run.communicator->matching().hand_over(met); !fit) {
    const Rank source = message->source;
    engine_.landings.release(message);
    return refuse_message(run, source, fit);
  }
  run.call.count = message->bytes;
  run.number = message->digest;
  ActivePart* part = nullptr;
  engine_.landings.give(message, [&] { part = &make_message_part(run); });
  part->states[0].landing = message;
  start(*part, 0);
}

void Scheduler::receive(Client& communicator, Place& place, const Arrival& message) {
  const MessageHeader& header = message.header;
  if (MessageRun* receive = place.receive) {
    const Status fit = fits(*receive, message.from, header.bytes, header.dtype);
    if (fit) {
      receive->call.count = header.bytes;
      receive->number = header.digest;
      place.part = &make_message_part(*receive);
      start(*place.part, 0);
    } else {
      refuse_message(*receive, message.from, fit);
    }
  }
  if (!place.in_turn) return;
  while (const auto met = communicator.matching().next_met(message.from, header.run)) receive_landed(*met);
}

/// Ends a receive whose message does not fit. If it belongs to an exchange, all ranks learn of it, and here nothing of
/// the communicator goes on.
void Scheduler::refuse_message(MessageRun& receive, Rank source, const Status& why) {
  if (!is_of_exchange(receive.tag)) return end(receive, why);
  Client& communicator = *receive.communicator;
  engine_.failures.report_message(communicator, Trouble::Kind::Mismatch, {.source = source, .tag = receive.tag},
                                  std::string(why.message()));
  engine_.failures.fail(communicator, why);
}

void Scheduler::end(Run& run, const Status& status) {
  engine_.record.add(
      {.run = number_or_tag(run), .kind = status ? FlightRecord::Kind::Finished : FlightRecord::Kind::Failed});
  run.finished = true;
  engine_.alarms.note_end();
  run.status = status;
  engine_.device.release_streams(run);
  if (engine_.tracer) engine_.tracer->call_ended(run);
  const Run& first = run.first ? *run.first : run;
  if (run.call.options.notify && has_ended(first)) engine_.alarms.push({*run.call.options.notify, outcome(first)});
  run.communicator->ended(run, engine_.record.ticks());
  engine_.deadlines.end();
  if (engine_.options.progress_thread) {
    engine_.ended.notify_all();
    engine_.alarms.wake_loop();
  }
  if (run.operations > 0) return;
  run.settle(true);
  let_go(run);
}

/// Ends this call only, as no other rank waits for it.
void Scheduler::end_alone(CollectiveRun& run, const Status& status) {
  purge([&](const Run& other) { return &other == &run; });
  engine_.landings.release_of(run);
  end(run, status);
}

void Scheduler::end_all(Client& communicator, const Status& status) {
  const RunTable& runs = communicator.runs();
  purge([&](const Run& run) { return run.communicator == &communicator; });
  runs.each_call([&](CollectiveRun& run) {
    engine_.landings.release_of(run);
    end(run, status);
  });
  while (!runs.messages().empty()) {
    MessageRun& message = *runs.messages().back();
    engine_.landings.release_of(message);
    end(message, status);
  }
  communicator.matching().clear();
}

void Scheduler::forget(Client& communicator) {
  while (CollectiveRun* kept = communicator.kept().take_any()) empty(*kept);
  calls_.each_taken([&](CollectiveRun& run) { run.laid_out = run.laid_out && run.communicator != &communicator; });
  boards_.retire(communicator);
}

/// Removes the waiting steps of runs that are about to end, so that they do not start any more.
void Scheduler::purge(const std::function<bool(const Run& run)>& belongs) {
  ready_.remove_if([&](const StepOf& step) { return belongs(*step.part->run); });
  boards_.remove_if(belongs);
  outgoing_.remove_if(belongs);
  incoming_.remove_if(belongs);
}

void Scheduler::abandon(Run& run) {
  run.abandoned = true;
  if (run.finished && run.operations == 0) let_go(run);
}

/// Cleans up after a run that has ended, once the transport and kernels have let go of its memory.
void Scheduler::let_go(Run& run) {
  if (!run.active.empty()) lay_aside_parts(run);
  const bool is_call = run.kind == RunKind::Collective;
  if (is_call && std::exchange(as_collective(run).plan.writes_state, false)) run.call.options.state->in_use = false;
  if (is_call && as_collective(run).prepared && !run.abandoned) return;  // it may be started again
  if (run.call.options.keep_alive) engine_.deferred.add(std::move(run.call.options.keep_alive));
  if (run.abandoned) recycle(run);
}

void Scheduler::lay_aside_parts(Run& run) {
  for (ActivePart& part : run.active) give_back_memory(part, engine_.memory);
  run.spare.splice(run.spare.begin(), run.active);
}

/// Keeps an unused run for a call like its last one, or makes it an empty one.
void Scheduler::recycle(Run& run) {
  engine_.device.forget(run);
  if (run.kind != RunKind::Collective) {
    run.first = run.next = nullptr;
    return messages_.give_back(&as_message(run));
  }
  CollectiveRun& call = as_collective(run);
  call.prepared = false;
  CollectiveRun* const unneeded = may_be_kept(call) ? call.communicator->kept().keep(call) : &call;
  if (unneeded) empty(*unneeded);
}

void Scheduler::empty(CollectiveRun& call) {
  call.laid_out = false;
  call.method = nullptr;
  call.call.options.method = {};
  call.call.options.state = nullptr;
  call.plan.clear();
  for (RunMemory& one : call.memory) one.give_back();
  call.memory.clear();
  calls_.give_back(&call);
}

void Scheduler::leave_memory() {
  struct Left {
    ObjectPool<CollectiveRun> calls;
    ObjectPool<MessageRun> messages;
    MemoryPools memory;
  };
  static std::mutex mutex;
  static auto* const left = new std::vector<Left>();
  const std::lock_guard lock(mutex);
  left->push_back({std::move(calls_), std::move(messages_), std::move(engine_.memory)});
}

}  // namespace lacuna::runtime
