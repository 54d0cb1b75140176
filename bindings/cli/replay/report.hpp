#pragma once

#include <string>
#include <vector>

#include "bindings/cli/replay/method.hpp"
#include "bindings/cli/replay/recording.hpp"
#include "bindings/cli/replay/replay.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {

/// A line for each method: of bytes the mean over the steps, of times and errors the median; of what adds up over the
/// steps, the last.
std::string replay_table(const std::vector<ReplayedMethod>& methods);

/// Replaces the file of results.
Status write_replay_json(const ReplayOptions& options, const Communicator& communicator, const Recording& recording,
                         const std::vector<ReplayedMethod>& methods);

/// Replaces the picture of --plot.
Status write_replay_plot(const ReplayOptions& options, const Recording& recording,
                         const std::vector<ReplayedMethod>& methods);

}  // namespace lacuna::cli
