#include <CLI/CLI.hpp>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/trace/trace.hpp"

namespace lacuna::cli {

void add_trace(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App* command = app.add_subcommand("trace", "merge the traces that a job's ranks left in a folder");
  command->add_option("folder", options->folder, "the folder that LACUNA_TRACE named")->required()->type_name("FOLDER");
  command->add_option("-o,--output", options->output, "the merged trace; trace.json in the folder unless given")
      ->type_name("FILE");
  command->callback([options, &exit_code] { exit_code = trace(*options); });
}

}  // namespace lacuna::cli
