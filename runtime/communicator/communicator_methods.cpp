#include <fmt/format.h>

#include <algorithm>

#include "runtime/communicator/communicator.hpp"

namespace lacuna::runtime {

Status Communicator::check_method(const Call& call, const Algorithm& algorithm) const {
  const Method* method = method_of(call, algorithm);
  if (!method) return {};
  if (Status ready = method->ready ? method->ready(call) : Status(); !ready) return ready;
  const MethodState* state = call.options.state;
  if (!state) return {};
  if (state->in_use) return {Code::Busy, "a call that is still running adds to the residual of this state"};
  const StateArray* residual = state->find(residual_array);
  const std::size_t bytes = input_length(call, size()) * size_of(call.dtype);
  if (residual && residual->dtype != call.dtype) {
    return {Code::InvalidArgument, fmt::format("the residual of this state is of {}, the call of {}",
                                               to_string(residual->dtype), to_string(call.dtype))};
  }
  if (!residual || residual->bytes.size() == bytes) return {};
  return {Code::InvalidArgument, fmt::format("the residual of this state has {} bytes, the call's input {}: they must "
                                             "be equal, or the state without one",
                                             residual->bytes.size(), bytes)};
}

void Communicator::begin_method(Run& run) {
  const Options& options = run.call.options;
  const auto feeds_back = [](const PartPlan& part) { return part.structure.feedback; };
  run.residual = nullptr;
  run.state_run = 0;
  if (options.state) {
    run.state_run = ++options.state->runs;
    if (std::any_of(run.plan.parts.begin(), run.plan.parts.end(), feeds_back)) {
      const std::size_t count = input_length(run.call, size());
      run.residual = options.state->array(residual_array, run.call.dtype, count, true).bytes.data();
      options.state->in_use = true;
    }
  }
  if (run.plan.draws) {
    Sampler& sampler = options.sampler ? *options.sampler : options.state ? options.state->sampler : sampler_;
    run.sampler = sampler;
    ++sampler.draw;
  } else {
    run.sampler = {};
  }
  run.sample.clear();
  if (run.plan.sample > 0) take_sample(run);
  std::vector<PartReport> parts = std::move(run.report.parts);
  parts.clear();
  run.report = {.method = run.method, .numbers = run.plan.numbers, .parts = std::move(parts)};
  if (run.method->begun) run.method->begun(run.call, &run);
}

const PartCost& Communicator::cost(const ActivePart& part, const Structure& structure, const Order& order) {
  const GraphShape whole = graph_shape(*part.run, structure, order);
  return costs_.get(*part.run->algorithm, whole).of(whole.position, part.count);
}

void Communicator::report(const ActivePart& part) {
  Run& run = *part.run;
  const PartPlan& planned = run.plan.parts[part.number];
  const PartCost dense = cost(part, {}, dense_order({run.call, *run.algorithm, hosts_, run.sampler}, part.number));
  const PartCost& there = planned.is_dense() ? dense : cost(part, planned.structure, part.order);
  const std::uint64_t width = size_of(run.call.dtype);
  Report& report = run.report;
  report.rounds = std::max(report.rounds, there.rounds);
  report.sent += there.sent * width;
  report.received += there.received * width;
  if (planned.is_sample) return;
  report.dense_rounds = std::max(report.dense_rounds, dense.rounds);
  report.dense_sent += dense.sent * width;
  report.dense_received += dense.received * width;
  report.contributions += there.contributions;
  report.dense_contributions += dense.contributions;
  report.lacking += there.lacking;
  PartReport one{.offset = part.offset, .count = part.count, .outcome = planned.outcome, .fewest = there.fewest};
  if (planned.packed > 0) one.offset = run.plan.packed[planned.first_packed].offset;
  if (there.reduced > 0) one.mean = static_cast<double>(there.contributions) / static_cast<double>(there.reduced);
  report.parts.push_back(one);
}

Report Communicator::report(const Run& run) const {
  Executor::Lock lock(executor_);
  return run.method && run.plan.reports && run.finished && run.status ? run.report : Report();
}

void Communicator::count_report(const Run& run) {
  const Report& report = run.report;
  MethodCounters one{.method = run.method, .numbers = report.numbers};
  if (!run.plan.is_dense()) {
    one.calls = 1;
    one.rounds_saved = static_cast<std::uint64_t>(report.rounds_saved());
    one.sent = report.sent;
    one.dense_sent = report.dense_sent;
    one.left_out = report.dense_contributions - report.contributions;
    one.contributions = report.dense_contributions;
  }
  add(methods_, one);
}

void Communicator::end_method(Run& run) {
  if (run.residual) run.call.options.state->in_use = false;
  if (run.method->ended) {
    run.method->ended({.call = run.call,
                       .plan = run.plan,
                       .well = run.status.is_ok(),
                       .state_run = run.state_run,
                       .sample = run.sample,
                       .run = &run},
                      run.report.numbers);
  }
  if (run.status) count_report(run);
}

}  // namespace lacuna::runtime
