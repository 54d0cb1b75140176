#pragma once

#include "bindings/cli/run/config_section.hpp"
#include "bindings/workload/workload.hpp"
#include "runtime/values/hosts.hpp"

namespace lacuna::cli {

/// Reads a section [[method]] of a config for these ranks and this workload, which is null if the config names none.
/// Errors go to the section's report. The caller checks that labels differ.
MethodChoice read_method(ConfigSection& section, const Hosts& hosts, const Workload* workload);

}  // namespace lacuna::cli
