#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>

#include "bindings/cli/command_options.hpp"
#include "bindings/cli/commands.hpp"
#include "bindings/cli/compare.hpp"
#include "bindings/cli/info.hpp"
#include "bindings/cli/launch.hpp"
#include "bindings/cli/run.hpp"
#include "bindings/cli/trace.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {
namespace {

constexpr int usage_error = 2;

void add_compare(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "compare two results of `lacuna perf -J`");
  command->add_option("before", options->before, "a result")->required()->check(CLI::ExistingFile);
  command->add_option("after", options->after, "a later one")->required()->check(CLI::ExistingFile);
  command->add_option("-t,--tolerance", options->tolerance, "how much longer a time may be, 0.1 for a tenth")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--allow-missing", options->allow_missing, "the later one may lack rows");
  command->callback([options, &exit_code] { exit_code = compare(*options); });
}

/// Cuts off the program that `launch` is to run: from the first word that is no option of launch's own, or from after
/// `--`. Its arguments are none of ours, whatever they look like.
std::vector<std::string> take_program(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "launch") return {};
  std::size_t at = 1;
  while (at < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "--") {
    at += arguments[at] == "-n" || arguments[at] == "--ranks" ? 2 : 1;
  }
  at = std::min(at, arguments.size());
  const std::size_t begin = at < arguments.size() && arguments[at] == "--" ? at + 1 : at;
  std::vector<std::string> program(arguments.begin() + static_cast<std::ptrdiff_t>(begin), arguments.end());
  arguments.resize(at);
  return program;
}

void add_launch(CLI::App& app, const std::vector<std::string>& program, int& exit_code) {
  auto options = std::make_shared<LaunchOptions>();
  auto raw = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("launch", "run a program as N local ranks: launch -n N [--] PROGRAM ARGUMENTS");
  command->add_option("-n,--ranks", options->ranks, "number of ranks")->required()->check(CLI::Range(1, 1024));
  command->add_flag("--raw", *raw, "do not put the rank before each line");
  command->callback([=, &program, &exit_code] {
    options->prefix = !*raw;
    options->command = program;
    exit_code = launch(*options);
  });
}

void add_trace(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App* command = app.add_subcommand("trace", "merge the traces that a job's ranks left in a folder");
  command->add_option("folder", options->folder, "what LACUNA_TRACE was")->required();
  command->add_option("-o,--output", options->output, "the merged trace; trace.json in the folder unless given");
  command->callback([options, &exit_code] { exit_code = trace(*options); });
}

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "carry out the experiment that a TOML file describes");
  command->add_option("config", options->config, "the experiment")->required();
  command->add_flag("--fresh", options->fresh, "forget what an earlier run of this config has reached");
  command->add_flag("-q,--quiet", options->quiet, "show the final table only");
  command->add_flag("--predict", options->predict, "also show what each method would take at some link rates");
  CLI::Option* record = command->add_option(
      "--record", options->record.file, "write the gradients of the first method to this file, for `lacuna replay`");
  command->add_option("--record-every", options->record.every, "only those of each N-th step")
      ->check(CLI::Range(1, 1'000'000'000))
      ->needs(record);
  command->callback([options, &exit_code] { exit_code = run_command(*options); });
}

/// Is the first word a command? CLI11 itself would only say that there is none.
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
  auto markdown = std::make_shared<bool>(false);
  CLI::App* info_command = app.add_subcommand("info", "versions, transports, and the configuration in effect");
  info_command->add_flag("--markdown", *markdown, "the manual's table of variables instead");
  info_command->callback([&exit_code, markdown] { exit_code = info(*markdown); });
  add_list(app, exit_code);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::vector<std::string> program = take_program(arguments);
  add_graph(app, exit_code);
  add_explain(app, exit_code);
  add_perf(app, exit_code);
  add_compare(app, exit_code);
  add_launch(app, program, exit_code);
  add_run(app, exit_code);
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
