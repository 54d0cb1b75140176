#pragma once

#include <filesystem>

#include "bindings/cli/run/config.hpp"
#include "bindings/cli/run/record.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "bindings/cpp/state.hpp"

namespace lacuna::cli {

/// Where a run's result file lies: <output>/<name>.h5.
std::filesystem::path result_path(const RunConfig& config);

/// Under what circumstances a run began: time, versions, machine, hosts, command line, environment, config, seed.
Attributes provenance_of(const RunConfig& config, const Communicator& communicator);

/// Brings the result file up to date with the record; begins it, with `provenance`, if it is not there or belongs to
/// another config. Rank 0 only.
Status write_results(const RunConfig& config, const Attributes& provenance, const RunRecord& record);

}  // namespace lacuna::cli
