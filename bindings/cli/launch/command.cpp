#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/launch/launch.hpp"
#include "bindings/cli/shared/command_options.hpp"

namespace lacuna::cli {

void add_launch(CLI::App& app, const std::vector<std::string>& program, int& exit_code) {
  auto options = std::make_shared<LaunchOptions>();
  auto raw = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "launch", "run a program as N local ranks: launch -n N [--] PROGRAM ARGUMENTS; rank 0 has the standard input");
  add_number(*command, "-n,--ranks", options->ranks, {1, 1024}, "number of ranks, also as -np")
      ->required()
      ->default_str("");
  add_number(*command, "--aggregators", options->aggregators, {0, 1024},
             "number of processes that only aggregate for the ranks (lacuna aggregate)");
  add_name(*command, "--progress", options->progress,
           std::map<std::string, std::optional<Progress>>{{std::string(to_string(Progress::Caller)), Progress::Caller},
                                                          {std::string(to_string(Progress::Thread)), Progress::Thread}},
           "who moves messages (LACUNA_PROGRESS)");
  command->add_flag("--bind", options->bind, "give each rank processors of its own, and so keep ranks apart");
  command->add_flag("--raw", *raw, "do not put the rank before each line");
  command->callback([=, &program, &exit_code] {
    options->prefix = !*raw;
    options->command = program;
    std::error_code unknown;  // there may be no /proc
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
    options->aggregator = {unknown ? ::program_invocation_name : self.string(), "aggregate"};
    exit_code = launch(*options);
  });
}

}  // namespace lacuna::cli
