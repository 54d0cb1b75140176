#pragma once

#include <string>
#include <vector>

#include "bindings/cli/replay/method.hpp"
#include "bindings/cli/replay/recording.hpp"
#include "bindings/cli/replay/replay.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {

/// Returns a table with a line for each method. It has the mean of bytes over the steps, the median of times and
/// errors, and the last value of what adds up over the steps.
std::string replay_table(const std::vector<ReplayedMethod>& methods);

/// Replaces the file of results.
Status write_replay_json(const ReplayOptions& options, const Communicator& communicator, const Recording& recording,
                         const std::vector<ReplayedMethod>& methods);

/// Replaces the picture of --plot.
Status write_replay_plot(const ReplayOptions& options, const Recording& recording,
                         const std::vector<ReplayedMethod>& methods);

}  // namespace lacuna::cli
