#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bindings/checkpoint/result_file.hpp"
#include "bindings/checkpoint/step_file.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::cli {

/// What the files of a run say while it goes on.
struct RunProgress {
  std::vector<checkpoint::StepTable> work{};           ///< for each method and seed
  std::optional<checkpoint::RunResults> results = {};  ///< none before the first evaluation
  double seconds_since_step = 0;                       ///< time since the run has last written steps

  /// Returns whether all steps are done.
  bool finished() const;
};

/// Reads the files of the run that has this output folder. The run may go on meanwhile. It is Io if the folder holds no
/// run of this lacuna.
Result<RunProgress> read_progress(const std::filesystem::path& output);

/// Returns a table with a line for each method and seed: how many steps are done, means over the last of them, and what
/// the newest evaluation has found.
std::string progress_table(const RunProgress& progress);

}  // namespace lacuna::cli
