#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>

#include "bindings/cli/commands.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {
namespace {

constexpr int usage_error = 2;

/// Cuts off the program that `launch` is to run. It begins with the first word that is no option of `launch`, or after
/// `--`. Its arguments do not belong to lacuna, whatever they look like.
std::vector<std::string> take_program(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "launch") return {};
  std::size_t at = 1;
  while (at < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "--") {
    constexpr std::array with_number = {"-n", "--ranks", "--aggregators"};
    at += std::find(with_number.begin(), with_number.end(), arguments[at]) == with_number.end() ? 1 : 2;
  }
  at = std::min(at, arguments.size());
  const std::size_t begin = at < arguments.size() && arguments[at] == "--" ? at + 1 : at;
  std::vector<std::string> program(arguments.begin() + static_cast<std::ptrdiff_t>(begin), arguments.end());
  arguments.resize(at);
  return program;
}

/// Is the first word a command? If it is not, says which commands there are; CLI11 would not.
bool knows_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return true;
  std::string known;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == arguments.front()) return true;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  fmt::print(stderr, "lacuna: no command is called '{}'; there are: {}\n", arguments.front(), known);
  return false;
}

}  // namespace
}  // namespace lacuna::cli

int main(int argc, char** argv) {
  using namespace lacuna::cli;
  int exit_code = 0;
  CLI::App app("lacuna: collectives that send only what matters", "lacuna");
  app.set_version_flag("--version", std::string(lacuna::version()));
  app.require_subcommand(1);
  add_info(app, exit_code);
  add_list(app, exit_code);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::vector<std::string> program = take_program(arguments);
  add_graph(app, exit_code);
  add_explain(app, exit_code);
  add_perf(app, exit_code);
  add_compare(app, exit_code);
  add_launch(app, program, exit_code);
  add_aggregate(app, exit_code);
  add_run(app, exit_code);
  add_show(app, exit_code);
  add_plot(app, exit_code);
  add_replay(app, exit_code);
  add_trace(app, exit_code);
  if (!knows_command(app, arguments)) return usage_error;
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : usage_error;
  }
  return exit_code;
}
