#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "bindings/checkpoint/checkpoint.hpp"
#include "bindings/cli/run/config.hpp"
#include "bindings/cli/run/display.hpp"
#include "bindings/cli/run/folder_lock.hpp"
#include "bindings/cli/run/gradient_recorder.hpp"
#include "bindings/cli/run/record.hpp"
#include "bindings/cli/run/results.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {

/// Carries out a config on one rank of a job. All ranks make the same calls; an error on one ends all of them.
class RunSession {
 public:
  /// The communicator and the config must outlive the session. A quiet session prints nothing. The gradients of the
  /// first method are recorded if a file for them is given.
  RunSession(Communicator& communicator, RunConfig& config, bool quiet, RecordOptions record = {});

  /// Does everything, from loading the data to the end of the last method. It begins anew with `fresh`, else at the
  /// newest checkpoint.
  Result<RunRecord> run(bool fresh);

 private:
  bool first_rank() const { return communicator_.rank() == 0; }
  Status prepare(bool fresh);
  Status make_room(bool fresh);
  void look_for_gradients();
  Status set_up(std::size_t method);
  Status restore();
  Result<std::int64_t> find_set();
  Status read_set(std::int64_t set);
  Status train(std::size_t method);
  MeasureTable measures() const;
  MeasureValues measures_of_calls() const;
  std::uint64_t next_stop() const;
  bool evaluates_now() const;
  Status train_until(std::uint64_t stop);
  bool records() const { return recorder_ && record_.size() == 1; }
  Status evaluate();
  Status save_results();
  /// Only the first rank calls it. It is an error if what `write` writes does not go into the folder that this rank has
  /// locked.
  Status write_in_folder(const std::function<Status()>& write) const;
  Status finish_method();
  Status save();
  Status write_manifest(std::int64_t set, const Status& written, const checkpoint::FileSum& sum);
  MethodRecord& current() { return record_.back(); }

  Communicator& communicator_;
  RunConfig& config_;
  ProgressDisplay display_;
  Attributes provenance_;
  FolderLock lock_;          // only the first rank holds it
  std::uint64_t steps_ = 0;  // steps of each method
  std::uint64_t steps_per_epoch_ = 1;
  std::uint64_t step_ = 0;  // steps done by the current method
  RunRecord record_;
  RecordOptions gradients_;
  std::optional<GradientRecorder> recorder_;
};

}  // namespace lacuna::cli
