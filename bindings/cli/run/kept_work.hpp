#pragma once

#include <cstdint>
#include <vector>

#include "bindings/cli/run/work.hpp"

namespace lacuna::cli {

constexpr std::int64_t no_set = -1;

/// Returns the step of each work's newest checkpoint, or no_set. It is an error, which names the differences, if the
/// config would change what has been done, with these ranks and so many steps of each method. Checkpoints that are
/// damaged are passed over, which standard error says.
Result<std::vector<std::int64_t>> newest_sets(const RunConfig& config, const std::vector<Work>& work, Rank ranks,
                                              std::uint64_t steps);

}  // namespace lacuna::cli
