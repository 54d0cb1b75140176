#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "runtime/engine/client.hpp"
#include "runtime/engine/scheduler.hpp"

namespace lacuna::runtime {
namespace {

const PartPlan whole_message;

/// Is this part, which has ended, the same in the next start of its run? It is if it is the only one, uses no memory
/// but the caller's, and nothing about it is drawn. A run that wants copies is planned anew, because others may be able
/// to read them by then.
bool may_stay_laid_out(const CollectiveRun& run, const ActivePart& part) {
  const bool only_callers_memory = part.graph->tables().buffers.size() == 2;
  return run.parts == 1 && !run.method && !run.plan.draws && only_callers_memory && !run.wants_copies;
}

}  // namespace

std::uint32_t Scheduler::parts_in_flight(const CollectiveRun& run) const {
  const Plan& plan = run.plan;
  if (plan.in_flight == 0 && run.maps_copies && run.hosts->count() == 1) return parts_with_copies(run);
  if (plan.in_flight == 0) return engine_.options.parts_in_flight * (run.mappable ? more_mappable_parts : 1);
  if (plan.in_flight <= most_parts_in_flight) return plan.in_flight;
  throw std::length_error(fmt::format("the plan asks for {} parts in flight, at most {} are allowed", plan.in_flight,
                                      most_parts_in_flight));
}

/// So few parts that the copies of all of them stay in the caches until the others have read them.
std::uint32_t Scheduler::parts_with_copies(const CollectiveRun& run) const {
  const std::size_t bytes = run.plan.parts.front().data.count * size_of(run.call.dtype);
  const auto fitting = static_cast<std::uint32_t>(bytes_of_copies / std::max<std::size_t>(bytes, 1));
  return std::clamp<std::uint32_t>(fitting, 1, engine_.options.parts_in_flight);
}

/// Can the next part of the plan begin? There must be one, and it must not wait for the parts before it.
bool Scheduler::has_next_part(const CollectiveRun& run) const {
  return run.next_part < run.parts && run.active.size() < run.in_flight &&
         !(run.plan.parts[run.next_part].waits && run.parts_done < run.next_part);
}

ActivePart& Scheduler::add_part(Run& run) {
  if (run.spare.empty()) run.spare.emplace_back();
  run.active.splice(run.active.end(), run.spare, run.spare.begin());
  ActivePart& part = run.active.back();
  part.run = &run;
  part.group = &run.communicator->group();
  return part;
}

/// Adds the next part of the plan to those in flight.
ActivePart& Scheduler::add_planned_part(CollectiveRun& run) {
  ActivePart& part = add_part(run);
  part.number = run.next_part++;
  run.ready[part.number].active = std::prev(run.active.end());
  return part;
}

/// Makes the next part of the plan without starting it.
ActivePart& Scheduler::make_part(CollectiveRun& run) {
  ActivePart& part = add_planned_part(run);
  part.plan = &run.plan.parts[part.number];
  part.greets = part.plan->draw == 0 && !part.plan->beside;
  ReadyPart& ready = run.ready[part.number];
  part.order = std::move(ready.order);
  make_part(part, ready.graph);
  return part;
}

/// Makes a part whose plan and order are set. `known` is its graph, or null.
void Scheduler::make_part(ActivePart& part, const std::shared_ptr<const Graph>& known) {
  const Client& communicator = *part.run->communicator;
  part.position = part.order.position_of(communicator.rank());
  const std::shared_ptr<const Graph>& graph = known ? known : part.run->communicator->graph(part);
  if (part.graph != graph) part.graph = graph;
  cut(part);
  lay_out_part(part);
}

/// Makes the only part of a message. Its length is known by now.
ActivePart& Scheduler::make_message_part(MessageRun& run) {
  ActivePart& part = add_part(run);
  part.order = {part.group->size(), part.group->rank_of(run.peer)};
  part.position = 0;
  part.graph = run.kind == RunKind::Send ? message_graphs_.send : message_graphs_.receive;
  part.number = 0;
  part.greets = true;
  part.digest = run.number;
  part.plan = &whole_message;
  part.offset = 0;
  part.count = run.call.count;
  run.past_caches = run.call.count >= engine_.options.cache_bytes;
  lay_out_part(part);
  return part;
}

/// Sets a part to the state in which none of its steps has started.
void Scheduler::renew(ActivePart& part) {
  const Graph& graph = *part.graph;
  part.waits.assign(graph.predecessor_counts().begin(), graph.predecessor_counts().end());
  part.states.assign(graph.steps().size(), {});
  part.remaining = static_cast<std::uint32_t>(graph.steps().size());
  part.values.assign(graph.tables().values.size(), 0);
}

/// Makes what a part needs before its first step starts. Its graph and its share of the data must be set.
void Scheduler::lay_out_part(ActivePart& part) {
  renew(part);
  lay_out(part, engine_.memory);
}

/// Starts a part of the plan. Its run must have its number by now.
void Scheduler::start_part(ActivePart& part) {
  part.digest = collective_of(part).digest;
  start_steps(part);
}

void Scheduler::start_steps(ActivePart& part) {
  CollectiveRun& run = collective_of(part);
  if (!run.chains.empty()) ++run.chains[part.number % run.parts].length;
  adopt_early_messages(part);
  for (StepId root : part.graph->roots()) ready_.push(run.call.options.priority, {&part, root});
  if (part.remaining == 0) finish_part(part);
}

void Scheduler::adopt_early_messages(ActivePart& part) {
  Client& communicator = *part.run->communicator;
  const std::string_view violation = communicator.matching().adopt(part);
  if (violation.empty()) return;
  engine_.failures.report(communicator, Trouble::Kind::Mismatch, collective_of(part).number, std::string(violation));
}

/// Refuses messages for parts that would follow this one: nothing follows it, so that nobody may have sent any.
void Scheduler::refuse_early_messages(const ActivePart& part) {
  Client& communicator = *part.run->communicator;
  const std::string_view violation = communicator.matching().refuse_after(part);
  if (violation.empty()) return;
  engine_.failures.report(communicator, Trouble::Kind::Mismatch, collective_of(part).number, std::string(violation));
}

void Scheduler::finish_part(ActivePart& part) {
  give_back_memory(part, engine_.memory);
  if (part.run->kind != RunKind::Collective) {
    part.run->lay_aside(part.run->active.begin());
    return end(*part.run, Status::ok());
  }
  CollectiveRun& run = collective_of(part);
  if (run.plan.reports) run.communicator->report(part);
  if (!run.chains.empty() && follow(part)) return;
  if (!run.laid_out && may_stay_laid_out(run, part)) {
    run.laid_out = true;
    run.only_step = Boards::only_step(run, part);
  }
  run.lay_aside(*std::exchange(run.row_of(part.number).active, std::nullopt));
  if (++run.parts_done == run.parts) return end(run, Status::ok());
  while (has_next_part(run)) start_part(make_part(run));
}

/// Replaces a part that has ended by the one that follows it. Returns false if none does.
bool Scheduler::follow(ActivePart& part) {
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

}  // namespace lacuna::runtime
