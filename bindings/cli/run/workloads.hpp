#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/cli/run/config_section.hpp"
#include "bindings/workload/workload.hpp"

namespace lacuna::cli {

/// Returns what a config may name as workload.kind.
const std::vector<std::string>& workload_kinds();

/// Makes the workload of that kind for that many ranks, from the section [workload] of a config, whose key `kind` has
/// been read. Errors go to the section's report. Returns null if there is no such kind.
std::unique_ptr<Workload> make_workload(const std::string& kind, ConfigSection& section, Rank ranks);

}  // namespace lacuna::cli
