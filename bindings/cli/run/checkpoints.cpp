// The part of RunSession that writes checkpoint sets and continues from them. Each work has a folder of its own. The
// number of a set is the number of steps that the work has done.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <system_error>

#include "bindings/checkpoint/checkpoint.hpp"
#include "bindings/cli/run/cost.hpp"
#include "bindings/cli/run/kept_work.hpp"
#include "bindings/cli/run/session.hpp"
#include "bindings/cpp/agree.hpp"
#include "runtime/files/output_folder.hpp"

namespace lacuna::cli {
Status RunSession::find_work() {
  std::vector<std::int64_t> sets(work_.size(), no_set);
  Status found;
  if (first_rank()) {
    Result<std::vector<std::int64_t>> newest = newest_sets(config_, work_, communicator_.size(), steps_);
    if (newest) sets = *std::move(newest);
    found = newest.status();
  }
  if (Status agreed = agree(communicator_, found); !agreed) return agreed;
  if (Status shared = communicator_.call(broadcast(sets)); !shared) return shared;
  Status read;
  for (std::size_t work = 0; work < work_.size() && read; ++work) {
    if (sets[work] != no_set) read = read_record(work, sets[work]);
  }
  return agree(communicator_, read);
}

/// Takes what is known about work from a checkpoint. If the work has to do more steps than it was to do then, forgets
/// an evaluation that was made only because it was the last one.
Status RunSession::read_record(std::size_t work, std::int64_t set) {
  const Result<Attributes> attributes =
      checkpoint::read_rank_attributes({work_[work].folder, set, communicator_.rank(), communicator_.size()});
  if (!attributes) return attributes.status();
  const std::string* text = find_attribute<std::string>(*attributes, "record");
  Result<WorkRecord> read = record_from_json(text == nullptr ? "" : *text);
  if (!read) return read.status();
  WorkRecord& record = record_[work];
  if (read->label != record.label || read->seed != record.seed || read->steps != static_cast<std::uint64_t>(set)) {
    return {Code::Io, fmt::format("{}: the record of step {} is that of '{}' with seed {} after step {}",
                                  work_[work].folder.string(), set, read->label, read->seed, read->steps)};
  }
  record = *std::move(read);
  if (Status fits = check_measures(record, config_.methods[work_[work].method].options); !fits) return fits;
  if (record.finished && record.steps < steps_ && !evaluates_after(record.steps) && !record.evaluations.empty()) {
    const Evaluation& last = record.evaluations.back();
    record.figures = last.figures;
    record.evaluations.pop_back();
  }
  record.finished = record.steps == steps_;
  return Status::ok();
}

Status RunSession::read_state() {
  const auto read = [&]() -> Status {
    const std::vector<StateItem> items = config_.workload->state();
    const auto set = static_cast<std::int64_t>(current().steps);
    const Result<Attributes> attributes =
        checkpoint::read_rank_file({work().folder, set, communicator_.rank(), communicator_.size()}, items);
    return attributes ? config_.workload->restored() : attributes.status();
  };
  return agree(communicator_, read());
}

/// Makes the folder of a work, whose name is on the disk afterwards as that of a checkpoint will be.
Status RunSession::make_folder(const Work& work) const {
  std::error_code error;
  if (!std::filesystem::create_directories(work.folder, error) && !error) return Status::ok();
  if (error) return {Code::Io, fmt::format("{}: {}", work.folder.string(), error.message())};
  const Status seed = sync_folder(config_.output);
  return seed ? sync_folder(work.folder.parent_path()) : seed;
}

/// Makes the files for the steps of all work, so that readers see from the beginning what there is to do.
Status RunSession::make_step_logs() {
  for (std::size_t work = 0; work < work_.size(); ++work) {
    if (Status made = make_folder(work_[work]); !made) return made;
    Result<StepLog> log = StepLog::make(config_, work_[work], steps_, record_[work].steps);
    if (!log) return log.status();
    step_logs_.push_back(*std::move(log));
  }
  return Status::ok();
}

Status RunSession::save() {
  const Attributes attributes = {{"method", current().label}, {"record", to_json(current())}};
  const std::vector<StateItem> items = config_.workload->state();
  const checkpoint::RankFile mine{work().folder, static_cast<std::int64_t>(current().steps), communicator_.rank(),
                                  communicator_.size()};
  checkpoint::FileSum sum;
  const auto write = [&]() -> Status {
    Result<checkpoint::FileSum> written = checkpoint::write_rank_file(mine, items, attributes);
    if (written) sum = *std::move(written);
    return written.status();
  };
  return write_manifest(first_rank() ? write_in_folder(write) : write(), sum);
}

Status RunSession::write_manifest(const Status& written, const checkpoint::FileSum& sum) {
  if (Status agreed = agree(communicator_, written); !agreed) return agreed;
  const auto set = static_cast<std::int64_t>(current().steps);
  Result<std::vector<checkpoint::FileSum>> sums = checkpoint::gather_sums(communicator_, set, sum);
  if (!sums) return sums.status();
  const auto complete = [&]() -> Status {
    checkpoint::Manifest manifest{.step = set, .files = *std::move(sums), .config_text = work().values};
    Result<std::string> digest = checkpoint::digest_of(work().values);
    if (!digest) return digest.status();
    manifest.config_digest = *std::move(digest);
    if (Status done = checkpoint::write_manifest(work().folder, manifest); !done) return done;
    constexpr std::size_t kept = 2, kept_at_the_end = 1;
    return checkpoint::prune(work().folder, set, current().finished ? kept_at_the_end : kept);
  };
  return agree(communicator_, first_rank() ? write_in_folder(complete) : Status::ok());
}

}  // namespace lacuna::cli
