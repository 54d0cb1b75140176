#pragma once

#include <string>

#include "bindings/cli/run/config.hpp"
#include "runtime/values/hosts.hpp"

namespace lacuna::cli {

/// Says what a run of this config on these ranks would do: the values in effect, and for each method how many steps are
/// done and left, its algorithms, and the bytes that it is predicted to send. It reads the workload's data and the
/// checkpoints, and writes nothing. It is an error where the run would be refused.
Result<std::string> dry_run(RunConfig& config, const Hosts& hosts);

}  // namespace lacuna::cli
