#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lacuna::cli {

/// The words that call a command, such as "lacuna graph topology", with a separator between them.
inline std::string path_of(const CLI::App& command, char separator = ' ') {
  const CLI::App* parent = command.get_parent();
  return parent ? path_of(*parent, separator) + separator + command.get_name() : command.get_name();
}

}  // namespace lacuna::cli
