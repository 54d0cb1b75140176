#include <CLI/CLI.hpp>
#include <filesystem>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/launch/launch.hpp"

namespace lacuna::cli {

void add_launch(CLI::App& app, const std::vector<std::string>& program, int& exit_code) {
  auto options = std::make_shared<LaunchOptions>();
  auto raw = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("launch", "run a program as N local ranks: launch -n N [--] PROGRAM ARGUMENTS");
  command->add_option("-n,--ranks", options->ranks, "number of ranks")->required()->check(CLI::Range(1, 1024));
  command
      ->add_option("--aggregators", options->aggregators,
                   "number of processes that only aggregate for the ranks (lacuna aggregate)")
      ->check(CLI::Range(0, 1024));
  command->add_flag("--raw", *raw, "do not put the rank before each line");
  command->callback([=, &program, &exit_code] {
    options->prefix = !*raw;
    options->command = program;
    options->aggregator = {std::filesystem::read_symlink("/proc/self/exe").string(), "aggregate"};
    exit_code = launch(*options);
  });
}

}  // namespace lacuna::cli
