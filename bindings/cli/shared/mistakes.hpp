#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lacuna::cli {

/// Says that no command has the name of the first argument, and which was probably meant. Returns an empty text if one
/// has, or if the first argument is an option.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& arguments);

/// Says which argument the command that was being read does not know, and which option was probably meant.
std::string unexpected_argument(const CLI::App& app);

}  // namespace lacuna::cli
