#pragma once

#include <filesystem>
#include <vector>

#include "bindings/checkpoint/result_file.hpp"
#include "bindings/cli/run/config.hpp"
#include "bindings/cli/run/record.hpp"
#include "bindings/cli/run/work.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "bindings/cpp/state.hpp"

namespace lacuna::cli {

/// Returns where a run's result file lies: <output>/<name>.h5.
std::filesystem::path result_path(const RunConfig& config);

/// Returns under what circumstances a run began: time, versions, machine, hosts, command line, environment, config,
/// seeds. If `earlier` is the provenance of a run that this one continues, the time is that one's.
Attributes provenance_of(const RunConfig& config, const Communicator& communicator, const Attributes& earlier = {});

/// Returns what the result file is to say. `work` names the method of each record.
checkpoint::RunResults results_of(const RunConfig& config, Attributes provenance, const std::vector<Work>& work,
                                  const RunRecord& record);

}  // namespace lacuna::cli
