#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "bindings/cli/shared/arguments.hpp"
#include "bindings/cli/shared/pattern.hpp"
#include "bindings/cli/shared/quantities.hpp"
#include "runtime/values/method_options.hpp"
#include "runtime/values/nearest.hpp"

/// Options that several commands have. Help shows for each what stands in its place, and its default.
namespace lacuna::cli {

/// Refuses a name that is not in the list: "no reduction is called 'summ' (did you mean sum?); there are: ...".
void check_name(const std::string& option, std::string_view what, const std::string& given,
                const std::vector<std::string>& names);

/// Adds an option whose text is one of some names. `what` says what they are names of.
template <class T>
CLI::Option* add_name(CLI::App& command, const std::string& option, T& target, const std::map<std::string, T>& names,
                      const std::string& what) {
  std::vector<std::string> allowed;
  for (const auto& [name, value] : names) allowed.push_back(name);
  CLI::Option* added = command.add_option_function<std::string>(
      option,
      [=, &target](const std::string& name) {
        check_name(option, what, name, allowed);
        target = names.at(name);
      },
      fmt::format("{}: {}", what, fmt::join(allowed, ", ")));
  added->type_name("NAME");
  for (const auto& [name, value] : names) {
    if (added->nonpositional() && value == target) added->default_str(name);
  }
  return added;
}

/// The least and the most number that is allowed.
template <class T>
struct Limits {
  T least = 0;
  T most = std::numeric_limits<T>::max();
};

template <class T>
std::string text_of(Limits<T> limits) {
  if (limits.most == std::numeric_limits<T>::max()) return fmt::format("at least {}", limits.least);
  return fmt::format("{} .. {}", limits.least, limits.most);
}

/// Returns a check for CLI::Option::check().
template <class T>
auto within(Limits<T> limits) {
  return [limits](const std::string& text) {
    T number{};
    const bool read = CLI::detail::lexical_cast(text, number);
    if (read && number >= limits.least && number <= limits.most) return std::string();
    return fmt::format("{} must be {}", text, text_of(limits));
  };
}

/// Adds an option whose text is a number within limits.
template <class T>
CLI::Option* add_number(CLI::App& command, const std::string& option, T& target, Limits<T> limits,
                        const std::string& help) {
  CLI::Option* added = command.add_option(option, target, fmt::format("{}, {}", help, text_of(limits)));
  return added->type_name("N")->capture_default_str()->check(within(limits));
}

/// Reads a quantity (bindings/cli/shared/quantities.hpp).
template <class Quantity>
typename Quantity::Value read_quantity(const std::string& option, const std::string& text) {
  if (const auto value = Quantity::parse(text)) return *value;
  throw CLI::ValidationError(option, fmt::format("{} must be {}", text, Quantity::allowed));
}

/// Adds an option whose text is a quantity.
template <class Quantity>
CLI::Option* add_quantity(CLI::App& command, const std::string& option, typename Quantity::Value& target,
                          const std::string& help) {
  return command
      .add_option_function<std::string>(
          option, [=, &target](const std::string& text) { target = read_quantity<Quantity>(option, text); }, help)
      ->type_name(std::string(Quantity::word))
      ->default_str(Quantity::text(target));
}

/// Adds --density, the share of each rank's elements that are not zero.
CLI::Option* add_density(CLI::App& command, double& density);
/// Adds --density for several shares, with commas between them.
CLI::Option* add_density(CLI::App& command, std::vector<double>& densities);
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
