// The part of RunSession that carries out the work of one method with one seed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/cli/run/cost.hpp"
#include "bindings/cli/run/gradient_calls.hpp"
#include "bindings/cli/run/interruption.hpp"
#include "bindings/cli/run/session.hpp"
#include "bindings/cpp/agree.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::cli {

Status RunSession::carry_out(std::size_t work) {
  current_ = work;
  if (current().finished) return Status::ok();
  if (Status ready = set_up(); !ready) return ready;
  if (current().has_begun()) {
    if (Status read = read_state(); !read) return read;
    display_.line(fmt::format("{}: continues at step {} of {}", name_of(work), current().steps, steps_));
  }
  return train();
}

Status RunSession::set_up() {
  const Task task{
      .method = method(), .seed = work().seed, .steps = steps_, .tap = records() ? recorder_->tap() : GradientTap()};
  std::vector<std::string> algorithms;
  for (const GradientShape& gradient : config_.workload->gradients(task)) {
    MethodState state;
    const Result<std::string_view> name = communicator_.algorithm_name(call_of(method(), gradient, state));
    if (name) algorithms.emplace_back(*name);  // else set_up() says why there is none
  }
  current().algorithms = each_once(algorithms);
  return config_.workload->set_up(communicator_, task);
}

Status RunSession::train() {
  display_.begin({.label = name_of(current_),
                  .steps = steps_,
                  .steps_per_epoch = config_.workload->has_epochs() ? steps_per_epoch_ : 0,
                  .figure = config_.workload->figure_name()},
                 current().steps);
  stretch_ = 1;
  while (current().steps < steps_ && stopped_by_ == 0) {
    if (Status trained = train_until(next_stop()); !trained) return trained;
    const std::uint64_t step = current().steps;
    if (records()) {
      if (Status written = recorder_->finish(step - 1); !written) return written;
    }
    current().finished = step == steps_;
    if (evaluates_after(step)) {
      if (Status evaluated = evaluate(); !evaluated) return evaluated;
    }
    const bool saves = config_.checkpoint_every > 0 && step % config_.checkpoint_every == 0;
    if (saves || current().finished || stopped_by_ != 0 || save_is_wanted_) {
      if (Status saved = save(); !saved) return saved;
    }
    if (save_is_wanted_) display_.line(fmt::format("{}: saved after step {} by SIGUSR1", name_of(current_), step));
  }
  return Status::ok();
}

std::uint64_t RunSession::next_stop() const {
  const std::uint64_t step = record_[current_].steps;
  const auto next_multiple = [&](std::uint64_t of) { return (step / of + 1) * of; };
  std::uint64_t stop = std::min({steps_, next_multiple(steps_per_epoch_), step + stretch_});
  for (const std::uint64_t every : {config_.checkpoint_every, config_.evaluate_every}) {
    if (every > 0) stop = std::min(stop, next_multiple(every));
  }
  return records() ? std::min(stop, recorder_->next_stop(step)) : stop;
}

bool RunSession::evaluates_after(std::uint64_t steps) const {
  if (steps == steps_ || steps % steps_per_epoch_ == 0) return true;
  return config_.evaluate_every > 0 && steps % config_.evaluate_every == 0;
}

/// Returns the measures of the current method.
MeasureTable RunSession::measures() const {
  const Method* known = method().options.method();
  return known ? known->measures : MeasureTable();
}

/// Returns what all calls of this rank since it joined have told of the current method's measures.
MeasureValues RunSession::measures_of_calls() const {
  MeasureValues all;
  all.begin(measures());
  for (const MethodCounters& counted : communicator_.job_counters().methods()) {
    if (counted.method == method().options.method()) all.add(counted.measures);
  }
  return all;
}

Status RunSession::train_until(std::uint64_t stop) {
  if (Status together = communicator_.call(barrier()); !together) return together;
  communicator_.restart_measures();
  const MeasureValues before = measures_of_calls();
  const std::uint64_t first = current().steps;
  StepMeter meter(*config_.workload, communicator_);
  std::vector<StepNumbers> steps;
  for (std::uint64_t& step = current().steps; step < stop; ++step) {
    if (records()) recorder_->begin(step);
    const Result<double> figure = config_.workload->step(step);
    if (!figure) return figure.status();
    steps.push_back(meter.end_of_step(*figure));
    display_.advance(*figure);
  }
  WorkCost& cost = current().cost;
  for (const StepNumbers& step : steps) {
    cost.seconds += step.seconds;
    cost.waited += step.waited;
    cost.payload += step.payload;
  }
  MeasureValues now = measures_of_calls();
  now.subtract(before);
  for (std::size_t i = 0; i < cost.measures.size(); ++i) {
    cost.measures[i].told.add(measures()[i]->adds_up, now.cells()[i]);
  }
  if (Status shared = share_steps(first, std::move(steps)); !shared) return shared;
  return agree_on_signals();
}

/// Takes what each rank knows of the steps that it has just done. All ranks learn the means, and the first one writes
/// them. The next steps are to take a quarter of a second, so that a signal does not wait long.
Status RunSession::share_steps(std::uint64_t first, std::vector<StepNumbers> steps) {
  constexpr double wanted_seconds = 0.25;
  const std::span<double> numbers = flat(steps);
  if (Status averaged = communicator_.call(allreduce(numbers, numbers, Reduction::Avg)); !averaged) return averaged;
  double seconds = 0;
  for (const StepNumbers& step : steps) {
    current().figures.sum += step.figure;
    seconds += step.seconds;
  }
  current().figures.count += steps.size();
  const double fitting = wanted_seconds * static_cast<double>(steps.size()) / std::max(seconds, 1e-9);
  stretch_ = std::clamp(static_cast<std::uint64_t>(fitting), std::uint64_t{1}, std::uint64_t{2 * steps.size()});
  const auto write = [&] { return step_logs_[current_].write(first, numbers); };
  return agree(communicator_, first_rank() ? write_in_folder(write) : Status::ok());
}

/// All ranks learn whether any of them was sent a signal.
Status RunSession::agree_on_signals() {
  std::array<std::int32_t, 2> signals = {Interruption::signal(), SaveWishes::take()};
  if (Status agreed = communicator_.call(allreduce(signals, signals, Reduction::Max)); !agreed) return agreed;
  if (signals[0] != 0) stopped_by_ = signals[0];
  save_is_wanted_ = signals[1] != 0;
  return Status::ok();
}

Status RunSession::evaluate() {
  Result<Metrics> metrics = config_.workload->evaluate();
  if (!metrics) return metrics.status();
  Result<CostOfRanks> cost = over_ranks(communicator_, measures(), current().cost);
  if (!cost) return cost.status();
  const double epochs = static_cast<double>(current().steps) / static_cast<double>(steps_per_epoch_);
  const std::string at =
      config_.workload->has_epochs() ? fmt::format("epoch {:.2f}", epochs) : fmt::format("step {}", current().steps);
  display_.line(
      fmt::format("{}: {}: {}, fingerprint {:016x}", name_of(current_), at, to_text(*metrics), metrics->fingerprint));
  current().evaluations.push_back({.steps = current().steps,
                                   .epochs = epochs,
                                   .figures = current().figures,
                                   .cost = *std::move(cost),
                                   .metrics = *std::move(metrics)});
  current().figures = {};
  return save_results();
}

}  // namespace lacuna::cli
