#include <CLI/CLI.hpp>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/run/run.hpp"

namespace lacuna::cli {

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "carry out the experiment that a TOML file describes");
  command->add_option("config", options->config, "the experiment")->required();
  command->add_flag("--fresh", options->fresh, "forget what an earlier run of this config has reached");
  command->add_flag("-q,--quiet", options->quiet, "show the final table only");
  command->add_flag("--predict", options->predict, "also show what each method would take at some link rates");
  CLI::Option* record = command->add_option(
      "--record", options->record.file, "write the gradients of the first method to this file, for `lacuna replay`");
  command->add_option("--record-every", options->record.every, "record only each N-th step")
      ->check(CLI::Range(1, 1'000'000'000))
      ->needs(record);
  command->callback([options, &exit_code] { exit_code = run_command(*options); });
}

}  // namespace lacuna::cli
