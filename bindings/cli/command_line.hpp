#pragma once

#include <string>
#include <vector>

namespace lacuna::cli {

/// Carries out the command `lacuna` with these arguments. Returns the exit code.
int run_command_line(std::vector<std::string> arguments);

}  // namespace lacuna::cli
