#include <CLI/CLI.hpp>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/compare/compare.hpp"
#include "bindings/cli/shared/command_options.hpp"

namespace lacuna::cli {

void add_compare(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "compare two results of `lacuna perf -J`");
  command->add_option("before", options->before, "a result")->required()->type_name("FILE")->check(CLI::ExistingFile);
  command->add_option("after", options->after, "a later result")
      ->required()
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  add_quantity<quantity::Share>(*command, "-t,--tolerance", options->tolerance, "how much longer a time may be");
  command->add_flag("--allow-missing", options->allow_missing, "the later result may lack rows");
  command->add_flag("-J,--json", options->json, "print JSON");
  command->callback([options, &exit_code] { exit_code = compare(*options); });
}

}  // namespace lacuna::cli
