#include "bindings/cli/shared/mistakes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/cli/shared/command_path.hpp"
#include "runtime/values/nearest.hpp"

namespace lacuna::cli {
namespace {

/// Returns the command that was read last: a subcommand of a subcommand if there was one.
const CLI::App& last_command(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : last_command(*chosen.back());
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

std::string unknown_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return {};
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands(nullptr)) known.push_back(command->get_name());
  if (std::find(known.begin(), known.end(), arguments.front()) != known.end()) return {};
  return fmt::format("lacuna: no command is called '{}'{}; there are: {}", arguments.front(),
                     did_you_mean(arguments.front(), known), fmt::join(known, ", "));
}

std::string unexpected_argument(const CLI::App& app) {
  const CLI::App& command = last_command(app);
  const std::string path = path_of(command);
  const std::vector<std::string> left = app.remaining(true);
  const auto is_option = [](const std::string& text) { return text.size() > 1 && text.front() == '-'; };
  const auto option = std::find_if(left.begin(), left.end(), is_option);
  if (option == left.end()) return fmt::format("{}: the argument '{}' is one too many", path, left.front());
  const std::string name = option->substr(0, option->find('='));
  return fmt::format("{}: no option is called '{}'{}; `{} --help` lists them", path, name,
                     did_you_mean(name, options_of(command)), path);
}

}  // namespace lacuna::cli
