#include <algorithm>

#include "runtime/communicator/communicator.hpp"

namespace lacuna::runtime {
namespace {

/// How many parts carry some of the result.
std::size_t carrying(const Plan& plan) {
  return static_cast<std::size_t>(
      std::count_if(plan.parts.begin(), plan.parts.end(), [](const PartPlan& part) { return !part.beside; }));
}

}  // namespace

Status Communicator::check_method(const Call& call, const Algorithm& algorithm) const {
  const Method* method = method_of(call, algorithm);
  if (!method) return {};
  const MethodState* state = call.options.state;
  if (state && state->in_use) return {Code::Busy, "a call that is still running changes this state"};
  return method->ready ? method->ready(call, size()) : Status();
}

void Communicator::prepare_method(CollectiveRun& run) {
  MethodState* state = run.call.options.state;
  run.state_run = state ? state->runs + 1 : 0;
  if (!state) run.plan.writes_state = false;
  std::vector<PartReport> parts = std::move(run.report.parts);
  MeasureValues measures = std::move(run.report.measures);
  parts.assign(run.plan.reports ? carrying(run.plan) : 0, {});
  measures = run.plan.measures;
  run.report = {.method = run.method, .measures = std::move(measures), .parts = std::move(parts)};
}

void Communicator::begin_method(CollectiveRun& run) {
  const Options& options = run.call.options;
  if (options.state) options.state->in_use = run.plan.writes_state;
  if (run.plan.draws) ++sampler_of(options).draw;
}

/// What a part has cost. If its method states the rounds, all else has been counted as it happened. If not, it follows
/// from the graphs of all positions.
PartCost Communicator::cost(const ActivePart& part) {
  const CollectiveRun& run = collective_of(part);
  const auto stated = run.method->find(*run.algorithm)->rounds;
  if (stated && !part.plan->program) return {.rounds = stated(*part.plan, part.order.size())};
  const Algorithm& program = program_of(run, *part.plan);
  const GraphShape whole = graph_shape(program, part.plan->structure, part.order);
  return costs_.get(program, whole).of(whole.position, part.count);
}

std::optional<PartPlan> Communicator::next_of(const ActivePart& part) const {
  const CollectiveRun& run = collective_of(part);
  const PlanRequest request = plan_request(run);
  std::vector<std::uint64_t> values;
  for (Value value : part.graph->tables().decides) values.push_back(part.value(value));
  return run.method->follow(
      {.request = request, .part = *part.plan, .length = run.chains[part.number % run.parts].length, .values = values});
}

void Communicator::add_measures(CollectiveRun& run, const MeasureValues& told) const { run.report.measures.add(told); }

void Communicator::report(const ActivePart& part) {
  if (rank() >= size()) return;  // nobody reads the report of an aggregator, which has no part in the dense call
  CollectiveRun& run = collective_of(part);
  const PartCost there = cost(part);
  Report& report = run.report;
  int rounds = there.rounds;
  if (!run.chains.empty()) rounds = run.chains[part.number % run.parts].rounds += there.rounds;
  report.rounds = std::max(report.rounds, rounds);
  if (part.plan->beside || part.number >= run.parts) return;
  const PartCost dense = dense_cost(part);
  report.dense_rounds = std::max(report.dense_rounds, dense.rounds);
  report.dense_sent += dense.sent.bytes_of(run.call.dtype);
  report.dense_received += dense.received.bytes_of(run.call.dtype);
  if (there.reduced > 0) {  // if not, only kernels know the contributions
    report.contributions += there.contributions;
    report.dense_contributions += dense.contributions;
  }
  report.lacking += there.lacking;
  PartReport& one = report.parts[part.plan->draw];
  one = {.offset = part.offset, .count = part.count, .outcome = part.plan->outcome, .fewest = there.fewest};
  if (part.plan->stretches > 0) one.offset = run.plan.stretches_of(*part.plan).front().offset;
  if (there.reduced > 0) one.mean = static_cast<double>(there.contributions) / static_cast<double>(there.reduced);
}

/// What the dense call would have cost for the same data.
const PartCost& Communicator::dense_cost(const ActivePart& part) {
  const CollectiveRun& run = collective_of(part);
  const Algorithm* beside = run.method->find(*run.algorithm)->dense;
  const Algorithm& algorithm = beside ? *beside : *run.algorithm;
  const Order order = dense_order({run.call, algorithm, hosts(), run.sampler}, *part.plan);
  const GraphShape whole = graph_shape(algorithm, {}, order);
  return costs_.get(algorithm, whole).of(whole.position, part.count);
}

Report Communicator::report(const Run& run) const {
  Executor::Lock lock(executor_);
  if (run.kind != RunKind::Collective || !run.finished || !run.status) return {};
  const CollectiveRun& call = as_collective(run);
  return call.method && call.plan.reports ? call.report : Report();
}

void Communicator::count_report(const CollectiveRun& run) {
  const Report& report = run.report;
  MethodCounters& all = counters_of(methods_, *run.method);
  all.measures.add_call(report.measures);
  if (run.plan.is_dense()) return;
  ++all.calls;
  all.rounds_saved += static_cast<std::uint64_t>(report.rounds_saved());
  all.sent += report.sent;
  all.dense_sent += report.dense_sent;
  all.left_out += report.dense_contributions - report.contributions;
  all.contributions += report.dense_contributions;
}

void Communicator::end_method(CollectiveRun& run) {
  run.report.sent = run.sent;
  run.report.received = run.received;
  if (run.status) count_report(run);
}

}  // namespace lacuna::runtime
