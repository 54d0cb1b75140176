#include "runtime/observe/tracer.hpp"

#include <algorithm>

#include "runtime/communicator/communicator.hpp"

namespace lacuna::runtime {
namespace {

/// Where `value` stands in `all`; put there if it is new.
template <class T, class Value>
std::uint32_t place_of(std::vector<T>& all, const Value& value) {
  const auto found = std::find(all.begin(), all.end(), value);
  const auto place = static_cast<std::uint32_t>(found - all.begin());
  if (found == all.end()) all.emplace_back(value);
  return place;
}

/// Of a step's data, once it has ended.
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

void Tracer::add(Event event) {
  if (events_.size() == capacity_) {
    ++dropped_;
    return;
  }
  event.ticks = time_.ticks_now();
  events_.push_back(event);
}

std::uint32_t Tracer::index_of(const ActivePart& part, const Step& step) {
  if (step.kind == StepKind::Kernel) return place_of(names_, part.graph->kernel(step).kernel->name);
  return part.run->kind == RunKind::Collective ? step.index : as_message(*part.run).number;
}

Tracer::Event Tracer::of_step(Kind kind, const ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  return {.call = part.run->traced,
          .step = id,
          .index = index_of(part, step),
          .peer = !step.sends() && !step.receives() ? Rank{0} : part.process_at(step.peer),
          .part = static_cast<std::uint16_t>(part.number),
          .kind = kind,
          .step_kind = step.kind};
}

void Tracer::call_posted(Run& run) {
  run.traced = calls_++;
  add({.bytes = run.call.count * size_of(run.call.dtype),
       .communicator = run.communicator->id(),
       .call = run.traced,
       .run = number_or_tag(run),
       .step = static_cast<std::uint32_t>(run.call.collective),
       .index = place_of(names_, name_of(run)),
       .peer = run.kind == RunKind::Collective ? Rank{0} : as_message(run).peer,
       .kind = Kind::CallPosted,
       .call_kind = run.kind});
}

void Tracer::call_ended(const Run& run) {
  add({.call = run.traced, .kind = Kind::CallEnded, .outcome = run.status.code()});
}

void Tracer::sent(const ActivePart& part, StepId step, std::size_t bytes, bool eager) {
  Event event = of_step(Kind::Sent, part, step);
  event.bytes = bytes;
  event.eager = eager;
  add(event);
}

void Tracer::step_ended(const ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  Event event = of_step(Kind::StepEnded, part, id);
  event.bytes = bytes_of(part, id);
  event.has_message = step.receives() && (event.bytes > 0 || sent_when_empty(part, step, step.to));
  add(event);
}

void Tracer::waited(std::uint64_t begin) {
  add({.bytes = begin, .step = place_of(threads_, std::this_thread::get_id()), .kind = Kind::Waited});
}

}  // namespace lacuna::runtime
