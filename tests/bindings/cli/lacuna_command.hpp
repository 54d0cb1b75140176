#pragma once

#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/processes/executed.hpp"

namespace lacuna::cli {

/// How a command ended, and what it printed.
struct Outcome {
  int exit_code;
  std::string output;
};

/// Runs the `lacuna` command.
inline Outcome lacuna(std::vector<std::string> arguments, const test::Environment& environment = {}) {
  arguments.insert(arguments.begin(), LACUNA_COMMAND);
  test::Executed command(arguments, environment);
  const int exit_code = command.wait();
  return {exit_code, command.output()};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Returns how often the pattern is found.
inline std::size_t count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return static_cast<std::size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {}));
}

}  // namespace lacuna::cli
