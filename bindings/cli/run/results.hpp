#pragma once

#include <filesystem>

#include "bindings/cli/run/config.hpp"
#include "bindings/cli/run/record.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "bindings/cpp/state.hpp"

namespace lacuna::cli {

/// Returns where a run's result file lies: <output>/<name>.h5.
std::filesystem::path result_path(const RunConfig& config);

/// Returns under what circumstances a run began: time, versions, machine, hosts, command line, environment, config,
/// seed.
Attributes provenance_of(const RunConfig& config, const Communicator& communicator);

/// Brings the result file up to date with the record. If the file is not there, or belongs to another config, begins it
/// with `provenance`. Only rank 0 calls it.
Status write_results(const RunConfig& config, const Attributes& provenance, const RunRecord& record);

}  // namespace lacuna::cli
