#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "runtime/values/status.hpp"

/// The manual pages of the command, for `man`. They are made from the declarations that `--help` shows.
namespace lacuna::cli {

/// The page of a command, in the language of man. The page of the whole command has the variables too.
std::string manual_page(const CLI::App& command);

/// Writes the page of a command and those of its subcommands into a folder: lacuna.1, lacuna-perf.1 ...
Status write_manual(const CLI::App& command, const std::filesystem::path& folder);

}  // namespace lacuna::cli
