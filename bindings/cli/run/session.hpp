#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bindings/checkpoint/checkpoint.hpp"
#include "bindings/cli/run/config.hpp"
#include "bindings/cli/run/display.hpp"
#include "bindings/cli/run/folder_lock.hpp"
#include "bindings/cli/run/gradient_recorder.hpp"
#include "bindings/cli/run/record.hpp"
#include "bindings/cli/run/results.hpp"
#include "bindings/cli/run/steps.hpp"
#include "bindings/cli/run/work.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {

/// Carries out a config on one rank of a job. All ranks make the same calls; an error on one ends all of them.
class RunSession {
 public:
  /// The communicator and the config must outlive the session. A quiet session prints nothing. The gradients of the
  /// first method are recorded if a file for them is given.
  RunSession(Communicator& communicator, RunConfig& config, bool quiet, RecordOptions record = {});

  /// Does everything, from loading the data to the end of the last method. With `fresh` it begins anew. Otherwise it
  /// keeps the work that the output folder holds, and does what is missing of it. It is an error if the config would
  /// change that work. If any rank is sent SIGINT, SIGTERM or SIGHUP, all ranks finish the steps that they are in,
  /// write a checkpoint, and return. If one has a wish (SaveWishes), they write a checkpoint too, and go on.
  Result<checkpoint::RunResults> run(bool fresh);

  /// Returns the signal that has ended run() before everything was done, equal on all ranks, or 0.
  int stopped_by() const { return stopped_by_; }
  /// Says where the work was stopped.
  std::string stop_text() const;

 private:
  bool first_rank() const { return communicator_.rank() == 0; }
  Status prepare(bool fresh);
  Status make_room(bool fresh);
  Status prepare_recording(bool fresh);
  Status forget_work();

  Status find_work();
  Status read_record(std::size_t work, std::int64_t set);
  Status read_state();

  Status carry_out(std::size_t work);
  Status set_up();
  Status train();
  Status train_until(std::uint64_t stop);
  Status share_steps(std::uint64_t first, std::vector<StepNumbers> steps);
  Status agree_on_signals();
  std::uint64_t next_stop() const;
  bool evaluates_after(std::uint64_t steps) const;
  bool records() const { return recorder_ && current_ == 0; }
  MeasureTable measures() const;
  MeasureValues measures_of_calls() const;
  Status evaluate();

  checkpoint::RunResults results() const { return results_of(config_, provenance_, work_, record_); }
  Status save_results();
  Status make_folder(const Work& work) const;
  Status make_step_logs();
  Status save();
  Status write_manifest(const Status& written, const checkpoint::FileSum& sum);
  /// Only the first rank calls it. It is an error if what `write` writes does not go into the folder that this rank has
  /// locked.
  Status write_in_folder(const std::function<Status()>& write) const;

  std::string name_of(std::size_t work) const { return cli::name_of(config_, work_[work]); }
  WorkRecord& current() { return record_[current_]; }
  const Work& work() const { return work_[current_]; }
  const MethodChoice& method() const { return config_.methods[work().method]; }

  Communicator& communicator_;
  RunConfig& config_;
  ProgressDisplay display_;
  Attributes provenance_;
  FolderLock lock_;          // only the first rank holds it
  std::uint64_t steps_ = 0;  // steps of each method
  std::uint64_t steps_per_epoch_ = 1;
  std::vector<Work> work_;
  RunRecord record_;                // one for each work
  std::vector<StepLog> step_logs_;  // one for each work; only the first rank has them
  std::size_t current_ = 0;         // the work that is carried out
  std::uint64_t stretch_ = 1;       // how many steps are done until the ranks next agree on how to go on
  int stopped_by_ = 0;
  bool save_is_wanted_ = false;  // a signal asked for a checkpoint during the last steps
  RecordOptions gradients_;
  std::optional<GradientRecorder> recorder_;
};

}  // namespace lacuna::cli
