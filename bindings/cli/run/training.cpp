// The part of RunSession that carries out the work of one method with one seed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/cli/run/cost.hpp"
#include "bindings/cli/run/gradient_calls.hpp"
#include "bindings/cli/run/interruption.hpp"
#include "bindings/cli/run/session.hpp"
#include "bindings/cli/shared/agree.hpp"
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
  display_.begin({.label = name_of(current_), .steps = steps_, .steps_per_epoch = steps_per_epoch_}, current().steps);
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
    if (saves || current().finished || stopped_by_ != 0) {
      if (Status saved = save(); !saved) return saved;
    }
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
  const auto begin = std::chrono::steady_clock::now();
  const auto waited = config_.workload->waited();
  const std::uint64_t payload = communicator_.counters().payload_sent;
  communicator_.restart_measures();
  const MeasureValues before = measures_of_calls();
  std::vector<double> figures;
  for (std::uint64_t& step = current().steps; step < stop; ++step) {
    if (records()) recorder_->begin(step);
    const Result<double> figure = config_.workload->step(step);
    if (!figure) return figure.status();
    figures.push_back(*figure);
    display_.advance(*figure);
  }
  using Seconds = std::chrono::duration<double>;
  const double seconds = Seconds(std::chrono::steady_clock::now() - begin).count();
  WorkCost& cost = current().cost;
  cost.seconds += seconds;
  cost.waited += Seconds(config_.workload->waited() - waited).count();
  cost.payload += static_cast<double>(communicator_.counters().payload_sent - payload);
  MeasureValues now = measures_of_calls();
  now.subtract(before);
  for (std::size_t i = 0; i < cost.measures.size(); ++i) {
    cost.measures[i].told.add(measures()[i]->adds_up, now.cells()[i]);
  }
  return agree_on_steps(std::move(figures), seconds);
}

/// Takes what each rank knows of the steps that it has just done. All ranks learn the mean figures, and whether any of
/// them was sent a signal. The next steps are to take a quarter of a second, so that a signal does not wait long.
Status RunSession::agree_on_steps(std::vector<double> figures, double seconds) {
  constexpr double wanted_seconds = 0.25;
  const std::size_t steps = figures.size();
  const int signal = Interruption::signal();
  figures.insert(figures.end(), {seconds, signal == SIGINT ? 1.0 : 0.0, signal == SIGTERM ? 1.0 : 0.0});
  if (Status averaged = communicator_.call(allreduce(figures, figures, Reduction::Avg)); !averaged) return averaged;
  for (std::size_t step = 0; step < steps; ++step) current().figures.sum += figures[step];
  current().figures.count += steps;
  if (figures[steps + 1] > 0) stopped_by_ = SIGINT;
  if (figures[steps + 2] > 0) stopped_by_ = SIGTERM;
  const double fitting = wanted_seconds * static_cast<double>(steps) / std::max(figures[steps], 1e-9);
  stretch_ = std::clamp(static_cast<std::uint64_t>(fitting), std::uint64_t{1}, std::uint64_t{2 * steps});
  return Status::ok();
}

Status RunSession::evaluate() {
  Result<Metrics> metrics = config_.workload->evaluate();
  if (!metrics) return metrics.status();
  Result<CostOfRanks> cost = over_ranks(communicator_, measures(), current().cost);
  if (!cost) return cost.status();
  const double epochs = static_cast<double>(current().steps) / static_cast<double>(steps_per_epoch_);
  display_.line(fmt::format("{}: epoch {:.2f}: {}, fingerprint {:016x}", name_of(current_), epochs, to_text(*metrics),
                            metrics->fingerprint));
  current().evaluations.push_back({.steps = current().steps,
                                   .epochs = epochs,
                                   .figures = current().figures,
                                   .cost = *std::move(cost),
                                   .metrics = *std::move(metrics)});
  current().figures = {};
  return save_results();
}

}  // namespace lacuna::cli
