#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "bindings/cli/shared/arguments.hpp"
#include "bindings/cli/shared/pattern.hpp"
#include "runtime/values/method_options.hpp"

/// Options that several commands have.
namespace lacuna::cli {

/// Adds an option whose text is one of some names.
template <class T>
CLI::Option* add_name(CLI::App& command, const std::string& option, T& target, const std::map<std::string, T>& names,
                      const std::string& help) {
  std::vector<std::string> allowed;
  for (const auto& [name, value] : names) allowed.push_back(name);
  return command
      .add_option_function<std::string>(
          option, [&target, names](const std::string& name) { target = names.at(name); }, help)
      ->check(CLI::IsMember(allowed));
}

void add_size(CLI::App& command, const std::string& option, std::size_t& target, const std::string& help);
/// Adds --method.
void add_method(CLI::App& command, MethodOptions& method);
/// Adds --pattern. The density of the pattern is left as it is.
CLI::Option* add_pattern(CLI::App& command, PatternOptions& pattern, const std::string& help);
/// Adds the ranks, by their number or by those on each host. With `alone`, ranks by number are each on a host of their
/// own.
void add_hosts(CLI::App& command, Hosts& hosts, Rank most, bool alone);

/// Says what is wrong, and returns the exit code.
int fail(const Status& status);

}  // namespace lacuna::cli
