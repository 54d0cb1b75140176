#include "runtime/engine/run_tracer.hpp"

#include <algorithm>

#include "runtime/engine/client.hpp"

namespace lacuna::runtime {
namespace {

/// Returns the bytes of a step's data, once the step has ended.
std::uint64_t bytes_of(const ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  if (step.receives()) return part.states[id].bytes;
  if (step.kind == StepKind::Release) return 0;
  if (step.kind == StepKind::Copy) return std::min(resolve(part, step.to).bytes(), resolve(part, step.from).bytes());
  if (step.kind != StepKind::Kernel) return resolve(part, step.sends() ? step.from : step.to).bytes();
  std::uint64_t bytes = 0;
  for (const Region& region : part.graph->kernel(step).writes) bytes += resolve(part, region).bytes();
  return bytes;
}

std::string_view name_of(const Run& run) {
  if (run.kind != RunKind::Collective) return "message";
  const CollectiveRun& call = as_collective(run);
  return call.method ? call.method->find(*call.algorithm)->name : call.algorithm->name;
}

}  // namespace

std::uint32_t RunTracer::index_of(const ActivePart& part, const Step& step) {
  if (step.kind == StepKind::Kernel) return tracer_.index_of(part.graph->kernel(step).kernel->name);
  return part.run->kind == RunKind::Collective ? step.index : as_message(*part.run).number;
}

Tracer::Event RunTracer::of_step(Tracer::Kind kind, const ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  return {.call = part.run->traced,
          .step = id,
          .index = index_of(part, step),
          .peer = !step.sends() && !step.receives() ? Rank{0} : part.process_at(step.peer),
          .part = part.number,
          .kind = kind,
          .step_kind = step.kind};
}

void RunTracer::call_posted(Run& run) {
  run.traced = tracer_.number_call();
  tracer_.add({.bytes = run.call.count * size_of(run.call.dtype),
               .communicator = run.communicator->id(),
               .call = run.traced,
               .run = number_or_tag(run),
               .step = static_cast<std::uint32_t>(run.call.collective),
               .index = tracer_.index_of(name_of(run)),
               .peer = run.kind == RunKind::Collective ? Rank{0} : as_message(run).peer,
               .kind = Tracer::Kind::CallPosted,
               .call_kind = run.kind});
}

void RunTracer::call_ended(const Run& run) {
  tracer_.add({.call = run.traced, .kind = Tracer::Kind::CallEnded, .outcome = run.status.code()});
}

void RunTracer::step_started(const ActivePart& part, StepId step) {
  tracer_.add(of_step(Tracer::Kind::StepStarted, part, step));
}

void RunTracer::sent(const ActivePart& part, StepId step, std::size_t bytes, bool eager) {
  Tracer::Event event = of_step(Tracer::Kind::Sent, part, step);
  event.bytes = bytes;
  event.eager = eager;
  tracer_.add(event);
}

void RunTracer::step_ended(const ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  Tracer::Event event = of_step(Tracer::Kind::StepEnded, part, id);
  event.bytes = bytes_of(part, id);
  event.has_message = step.receives() && (event.bytes > 0 || sent_when_empty(part, step, step.to));
  tracer_.add(event);
}

}  // namespace lacuna::runtime
