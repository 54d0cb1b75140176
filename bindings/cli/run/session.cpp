#include "bindings/cli/run/session.hpp"

#include <fmt/format.h>

#include <string_view>
#include <system_error>

#include "bindings/checkpoint/file_names.hpp"
#include "bindings/cli/run/cost.hpp"
#include "bindings/cli/run/interruption.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cpp/agree.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::cli {
namespace {

Status failed(const std::filesystem::path& path, const std::error_code& error) {
  return {Code::Io, fmt::format("{}: {}", path.string(), error.message())};
}

}  // namespace

RunSession::RunSession(Communicator& communicator, RunConfig& config, bool quiet, RecordOptions record)
    : communicator_(communicator), config_(config), display_(quiet), gradients_(std::move(record)) {}

Result<checkpoint::RunResults> RunSession::run(bool fresh) {
  const Interruption interruption;
  if (Status prepared = prepare(fresh); !prepared) return prepared;
  if (Status found = find_work(); !found) return found;
  if (Status recording = prepare_recording(fresh); !recording) return recording;
  const auto make = [&] { return make_step_logs(); };
  if (Status made = agree(communicator_, first_rank() ? write_in_folder(make) : Status::ok()); !made) return made;
  for (std::size_t work = 0; work < work_.size() && stopped_by_ == 0; ++work) {
    if (Status done = carry_out(work); !done) return done;
  }
  if (Status saved = save_results(); !saved) return saved;
  return results();
}

Status RunSession::prepare(bool fresh) {
  if (Status loaded = agree(communicator_, config_.workload->load()); !loaded) return loaded;
  const Result<std::uint64_t> per_epoch = config_.workload->steps_per_epoch(communicator_.size());
  if (!per_epoch) return per_epoch.status();
  steps_per_epoch_ = *per_epoch;
  steps_ = steps_of(config_, steps_per_epoch_);
  work_ = work_of(config_, steps_);
  for (const Work& one : work_) {
    const MethodChoice& wanted = config_.methods[one.method];
    record_.push_back({.label = wanted.label,
                       .seed = one.seed,
                       .dense = !is_on(wanted.options),
                       .cost = {.measures = no_measures(wanted.options)}});
  }

  if (Status ready = agree(communicator_, first_rank() ? make_room(fresh) : Status::ok()); !ready) return ready;
  const std::string mine = checkpoint::rank_file_name(0, communicator_.rank());
  return agree(communicator_, check_writable(config_.output / mine));
}

Status RunSession::make_room(bool fresh) {
  std::error_code error;
  std::filesystem::create_directories(config_.output, error);
  if (error) return failed(config_.output, error);
  const std::filesystem::path results = result_path(config_);
  if (Status writable = check_writable(results); !writable) return writable;
  Result<FolderLock> lock = FolderLock::take(config_.output, communicator_.hosts().front());
  if (!lock) return lock.status();
  lock_ = *std::move(lock);
  if (Status removed = remove_unfinished(results); !removed) return removed;
  if (fresh) {
    if (Status forgotten = forget_work(); !forgotten) return forgotten;
  }
  const Result<checkpoint::RunResults> earlier = checkpoint::read_results(results);
  if (!earlier && std::filesystem::exists(results, error)) {
    write_error("lacuna run: {}; it is made anew from the checkpoints\n", earlier.status().message());
  }
  provenance_ = provenance_of(config_, communicator_, earlier ? earlier->provenance : Attributes());
  return Status::ok();
}

/// Removes all checkpoints in the output folder, also those of earlier versions of lacuna, and the result file.
Status RunSession::forget_work() {
  if (Status removed = checkpoint::remove_sets(config_.output); !removed) return removed;
  std::error_code error;
  for (const std::filesystem::path& folder : folders_of_work(config_.output)) {
    if (Status removed = checkpoint::remove_sets(folder); !removed) return removed;
    std::filesystem::remove(folder / step_file_name, error);
    for (const std::filesystem::path& emptied : {folder, folder.parent_path()}) {
      if (std::filesystem::is_empty(emptied, error)) std::filesystem::remove(emptied, error);
    }
  }
  std::filesystem::remove(result_path(config_), error);
  return error ? failed(result_path(config_), error) : Status::ok();
}

/// Makes sure that the gradients of the first method can be recorded. It is an error if the workload has none, or if
/// that method has ended already and the file is not there.
Status RunSession::prepare_recording(bool fresh) {
  if (gradients_.file.empty()) return Status::ok();
  if (!config_.workload->has_gradients()) {
    return {Code::InvalidArgument,
            fmt::format("--record {}: this workload has no gradients to record", gradients_.file.string())};
  }
  recorder_.emplace(communicator_, gradients_, GradientRecorder::Run{.values = work_.front().values, .steps = steps_});
  if (Status prepared = recorder_->prepare(fresh); !prepared) return prepared;
  const bool late = first_rank() && record_.front().finished && !std::filesystem::exists(gradients_.file);
  return agree(communicator_,
               late ? Status(Code::InvalidArgument,
                             fmt::format("--record {}: '{}', whose gradients it would hold, has ended already. --fresh "
                                         "begins everything anew; another output in the config keeps what is there",
                                         gradients_.file.string(), name_of(0)))
                    : Status::ok());
}

std::string RunSession::stop_text() const {
  return fmt::format(
      "{} has stopped the run after step {} of '{}', which is saved; the same command goes on from there",
      name_of_signal(stopped_by_), record_[current_].steps, name_of(current_));
}

Status RunSession::save_results() {
  const auto write = [&] { return checkpoint::write_results(result_path(config_), results()); };
  return agree(communicator_, first_rank() ? write_in_folder(write) : Status::ok());
}

Status RunSession::write_in_folder(const std::function<Status()>& write) const {
  if (Status held = lock_.check(); !held) return held;
  const Status written = write();
  if (written) return written;
  const Status held = lock_.check();  // the folder may have gone meanwhile
  return held ? written : held;
}

}  // namespace lacuna::cli
