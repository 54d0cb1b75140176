#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/communicator/communicator.hpp"
#include "runtime/skip/skip_audit.hpp"
#include "runtime/skip/skip_importance.hpp"
#include "runtime/skip/skip_plan.hpp"

namespace lacuna::runtime {

/// The lists are the run's own.
void Communicator::keep_skip(Run& run, const Skip& skip) {
  run.call.options.skip = skip;
  run.segments.assign(skip.segments.begin(), skip.segments.end());
  run.schedule.assign(skip.schedule.begin(), skip.schedule.end());
  run.call.options.skip.segments = run.segments;
  run.call.options.skip.schedule = run.schedule;
}

Sampler& Communicator::sampler_of(const Options& options) {
  if (options.sampler) return *options.sampler;
  return options.skip.state ? options.skip.state->sampler : sampler_;
}

Status Communicator::check_state(const Call& call) const {
  Status ready;
  each_automatic(call, [&](const SkipSegment& segment) {
    if (ready) ready = call.options.skip.importance->ready(segment.key);
  });
  if (!ready || !call.options.skip.feedback) return ready;
  const SkipState& state = *call.options.skip.state;
  if (const auto& feeding = executor_.feeding_; std::find(feeding.begin(), feeding.end(), &state) != feeding.end()) {
    return {Code::Busy, "a call that is still running adds to the residual of this skip.state"};
  }
  const std::size_t bytes = input_length(call, size()) * size_of(call.dtype);
  if (state.residual.empty() || state.residual.size() == bytes) return {};
  return {Code::InvalidArgument, fmt::format("the residual of this skip.state has {} bytes, the call's input {}: they "
                                             "must be equal, or the residual empty",
                                             state.residual.size(), bytes)};
}

void Communicator::begin_report(Run& run) {
  run.reported = run.skips() || !run.plan.parts.empty();
  std::vector<SkippedPart> parts = std::move(run.report.parts);
  parts.clear();
  run.report = {.steps = run.skip_steps, .gather_steps = run.gather_steps, .parts = std::move(parts)};
}

const PartCost& Communicator::cost(const ActivePart& part, const PartShape& shape, const Order& order) {
  const GraphShape whole = graph_shape(*part.run, shape, order);
  return costs_.get(*part.run->algorithm, whole).of(whole.position, part.count);
}

void Communicator::report(const ActivePart& part) {
  Run& run = *part.run;
  const PartShape shape = shape_of(run, part.number);
  PartShape all = shape;
  all.skip_steps = all.gather_steps = 0;
  Order order = size();
  if (run.algorithm->bind) order = run.algorithm->bind({run.call, hosts_, run.sampler, false}, part.number);
  const PartCost dense = cost(part, all, order);
  const PartCost& skipped = shape.skips() ? cost(part, shape, part.order) : dense;
  const std::uint64_t width = size_of(run.call.dtype);
  SkipReport& report = run.report;
  report.rounds = std::max(report.rounds, skipped.rounds);
  report.sent += skipped.sent * width;
  report.received += skipped.received * width;
  if (is_audit(run, part.number)) return;
  report.dense_rounds = std::max(report.dense_rounds, dense.rounds);
  report.dense_sent += dense.sent * width;
  report.dense_received += dense.received * width;
  report.contributions += skipped.contributions;
  report.dense_contributions += dense.contributions;
  report.lacking += skipped.lacking;
  SkippedPart there{.offset = part.offset, .count = part.count, .fewest = skipped.fewest};
  if (!run.plan.parts.empty()) {
    const PartPlan& plan = run.plan.parts[part.number];
    if (plan.packed > 0) there.offset = run.plan.packed[plan.first_packed].offset;
    there.outcome = plan.outcome;
  }
  if (shape.skips()) there.outcome = SkipOutcome::Skipped;
  if (skipped.reduced > 0)
    there.mean = static_cast<double>(skipped.contributions) / static_cast<double>(skipped.reduced);
  report.parts.push_back(there);
}

SkipReport Communicator::skip_report(const Run& run) const {
  Executor::Lock lock(executor_);
  return run.reported && run.finished && run.status ? run.report : SkipReport();
}

void Communicator::count_skips(const Run& run) {
  const SkipReport& report = run.report;
  skips_ += {.calls = 1,
             .steps_saved = static_cast<std::uint64_t>(report.rounds_saved()),
             .sent = report.sent,
             .dense_sent = report.dense_sent,
             .left_out = report.dense_contributions - report.contributions,
             .contributions = report.dense_contributions};
}

void Communicator::end_audit(Run& run) {
  const Skip& skip = run.call.options.skip;
  SkipAudit audit = compare_with_sample(run);
  audit.run = run.state_run;
  if (skip.state->audit.run < audit.run) skip.state->audit = audit;  // whatever the order in which calls end
  if (!std::isfinite(audit.relative_error)) return;
  ++skips_.audits;
  skips_.audit_errors += audit.relative_error;
}

void Communicator::end_skips(Run& run) {
  for (const PartPlan& part : run.plan.parts) {
    skips_.protected_parts += run.status && part.outcome == SkipOutcome::Protected;
    skips_.measured_parts += run.status && part.outcome == SkipOutcome::Measured;
  }
  if (run.status && run.skips()) count_skips(run);
  if (run.status && run.audited) end_audit(run);
  const Skip& skip = run.call.options.skip;
  if (run.residual) std::erase(executor_.feeding_, skip.state);
  each_automatic(run.call, [&](const SkipSegment& segment) {
    const auto* output = static_cast<const std::byte*>(run.call.output) + segment.offset * size_of(run.call.dtype);
    skip.importance->ended(segment.key, &run, run.call.dtype, run.status ? output : nullptr, segment.count);
  });
}

}  // namespace lacuna::runtime
