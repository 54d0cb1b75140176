#include "bindings/cli/run/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <system_error>
#include <vector>

#include "bindings/checkpoint/file_names.hpp"
#include "bindings/cli/run/cost.hpp"
#include "bindings/cli/shared/agree.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::cli {

RunSession::RunSession(Communicator& communicator, RunConfig& config, bool quiet, RecordOptions record)
    : communicator_(communicator),
      config_(config),
      display_(quiet),
      provenance_(provenance_of(config, communicator)),
      gradients_(std::move(record)) {}

Result<RunRecord> RunSession::run(bool fresh) {
  if (Status prepared = prepare(fresh); !prepared) return prepared;
  if (Status restored = restore(); !restored) return restored;
  look_for_gradients();
  for (std::size_t method = record_.empty() ? 0 : record_.size() - 1; method < config_.methods.size(); ++method) {
    if (Status trained = train(method); !trained) return trained;
  }
  return record_;
}

Status RunSession::prepare(bool fresh) {
  if (Status loaded = agree(communicator_, config_.workload->load()); !loaded) return loaded;
  const Result<std::uint64_t> per_epoch = config_.workload->steps_per_epoch(communicator_.size());
  if (!per_epoch) return per_epoch.status();
  steps_per_epoch_ = *per_epoch;
  steps_ = config_.steps ? *config_.steps : *config_.epochs * steps_per_epoch_;

  if (Status ready = agree(communicator_, first_rank() ? make_room(fresh) : Status::ok()); !ready) return ready;
  const std::string mine = checkpoint::rank_file_name(0, communicator_.rank());
  if (Status writable = agree(communicator_, check_writable(config_.output / mine)); !writable) return writable;
  if (gradients_.file.empty()) return Status::ok();
  recorder_.emplace(communicator_, gradients_, GradientRecorder::Run{.values = config_.values, .steps = steps_});
  return recorder_->prepare(fresh);
}

/// If gradients were to be recorded, but the first method has ended already, says that none will come.
void RunSession::look_for_gradients() {
  if (!recorder_ || record_.empty() || (record_.size() == 1 && !current().finished)) return;
  display_.line(fmt::format("nothing is recorded: '{}', the first method, has ended already; --fresh begins anew",
                            record_.front().label));
}

Status RunSession::make_room(bool fresh) {
  const auto failed = [](const std::filesystem::path& path, const std::error_code& error) {
    return Status(Code::Io, fmt::format("{}: {}", path.string(), error.message()));
  };
  std::error_code error;
  std::filesystem::create_directories(config_.output, error);
  if (error) return failed(config_.output, error);
  if (Status writable = check_writable(result_path(config_)); !writable) return writable;
  Result<FolderLock> lock = FolderLock::take(config_.output, communicator_.hosts().front());
  if (!lock) return lock.status();
  lock_ = *std::move(lock);
  if (Status removed = remove_unfinished(result_path(config_)); !removed || !fresh) return removed;
  if (Status removed = checkpoint::remove_sets(config_.output); !removed) return removed;
  std::filesystem::remove(result_path(config_), error);
  return error ? failed(result_path(config_), error) : Status::ok();
}

Status RunSession::set_up(std::size_t method) {
  step_ = 0;
  return config_.workload->set_up(communicator_, {.method = config_.methods[method],
                                                  .seed = config_.seed,
                                                  .steps = steps_,
                                                  .tap = recorder_ && method == 0 ? recorder_->tap() : GradientTap()});
}

Status RunSession::train(std::size_t method) {
  if (record_.size() == method) {
    const MethodChoice& wanted = config_.methods[method];
    if (Status ready = set_up(method); !ready) return ready;
    record_.push_back(
        {.label = wanted.label, .dense = !is_on(wanted.options), .cost = {.measures = no_measures(wanted.options)}});
  }
  if (current().finished) return Status::ok();
  display_.begin({.label = current().label, .steps = steps_, .steps_per_epoch = steps_per_epoch_}, step_);
  while (step_ < steps_) {
    if (Status trained = train_until(next_stop()); !trained) return trained;
    if (records()) {
      if (Status written = recorder_->finish(step_ - 1); !written) return written;
    }
    const bool last = step_ == steps_;
    if (evaluates_now()) {
      if (Status evaluated = evaluate(); !evaluated) return evaluated;
    }
    if (last) {
      if (Status finished = finish_method(); !finished) return finished;
    }
    if (last || (config_.checkpoint_every > 0 && step_ % config_.checkpoint_every == 0)) {
      if (Status saved = save(); !saved) return saved;
    }
  }
  return Status::ok();
}

std::uint64_t RunSession::next_stop() const {
  const auto next_multiple = [&](std::uint64_t of) { return (step_ / of + 1) * of; };
  std::uint64_t stop = std::min(steps_, next_multiple(steps_per_epoch_));
  for (const std::uint64_t every : {config_.checkpoint_every, config_.evaluate_every}) {
    if (every > 0) stop = std::min(stop, next_multiple(every));
  }
  return records() ? std::min(stop, recorder_->next_stop(step_)) : stop;
}

bool RunSession::evaluates_now() const {
  if (step_ == steps_ || step_ % steps_per_epoch_ == 0) return true;
  return config_.evaluate_every > 0 && step_ % config_.evaluate_every == 0;
}

/// Returns the measures of the current method.
MeasureTable RunSession::measures() const {
  const Method* method = config_.methods[record_.size() - 1].options.method();
  return method ? method->measures : MeasureTable();
}

/// Returns what all calls of this rank since it joined have told of the current method's measures.
MeasureValues RunSession::measures_of_calls() const {
  const Method* method = config_.methods[record_.size() - 1].options.method();
  MeasureValues all;
  all.begin(measures());
  for (const MethodCounters& counted : communicator_.job_counters().methods()) {
    if (counted.method == method) all.add(counted.measures);
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
  for (; step_ < stop; ++step_) {
    if (records()) recorder_->begin(step_);
    const Result<double> figure = config_.workload->step(step_);
    if (!figure) return figure.status();
    display_.advance(*figure);
  }
  using Seconds = std::chrono::duration<double>;
  Cost& cost = current().cost;
  cost.seconds += Seconds(std::chrono::steady_clock::now() - begin).count();
  cost.waited += Seconds(config_.workload->waited() - waited).count();
  cost.payload += static_cast<double>(communicator_.counters().payload_sent - payload);
  MeasureValues now = measures_of_calls();
  now.subtract(before);
  for (std::size_t i = 0; i < cost.measures.size(); ++i) {
    cost.measures[i].told.add(measures()[i]->adds_up, now.cells()[i]);
  }
  return Status::ok();
}

Status RunSession::evaluate() {
  Result<Metrics> metrics = config_.workload->evaluate();
  if (!metrics) return metrics.status();
  const Result<Cost> cost = over_ranks(communicator_, measures(), current().cost);
  if (!cost) return cost.status();
  const double epochs = static_cast<double>(step_) / static_cast<double>(steps_per_epoch_);
  display_.line(fmt::format("{}: epoch {:.2f}: {}, fingerprint {:016x}", current().label, epochs, to_text(*metrics),
                            metrics->fingerprint));
  current().evaluations.push_back({.steps = step_, .epochs = epochs, .cost = *cost, .metrics = *metrics});
  return save_results();
}

Status RunSession::save_results() {
  const auto write = [&] { return write_results(config_, provenance_, record_); };
  return agree(communicator_, first_rank() ? write_in_folder(write) : Status::ok());
}

Status RunSession::write_in_folder(const std::function<Status()>& write) const {
  if (Status held = lock_.check(); !held) return held;
  const Status written = write();
  if (written) return written;
  const Status held = lock_.check();  // the folder may have gone meanwhile
  return held ? written : held;
}

Status RunSession::finish_method() {
  current().cost = current().evaluations.back().cost;
  current().finished = true;
  return save_results();
}

}  // namespace lacuna::cli
