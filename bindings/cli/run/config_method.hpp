#pragma once

#include <string>
#include <vector>

#include "bindings/cli/run/config_section.hpp"
#include "bindings/workload/workload.hpp"
#include "runtime/values/hosts.hpp"

namespace lacuna::cli {

/// Returns what a method's key `name` may be: "dense" and the names of all methods.
std::vector<std::string> method_names();

/// Reads a section [[method]] of a config for these ranks and this workload, which is null if the config names none.
/// Errors go to the section's report. The caller checks that labels differ.
MethodChoice read_method(ConfigSection& section, const Hosts& hosts, const Workload* workload);

}  // namespace lacuna::cli
