#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/run/table.hpp"
#include "bindings/cli/shared/command_options.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cli/show/show.hpp"

namespace lacuna::cli {

void add_show(CLI::App& app, int& exit_code) {
  struct Options {
    std::string file;
    bool json = false, csv = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("show", "print the results of a run, also of one that goes on");
  command->add_option("results", options->file, "the result file of `lacuna run`")->required()->type_name("FILE");
  CLI::Option* json =
      command->add_flag("--json", options->json, "print all numbers as JSON, with units and provenance");
  command->add_flag("--csv", options->csv, "print a line for each evaluation as CSV")->excludes(json);
  command->callback([options, &exit_code] {
    const auto results = checkpoint::read_results(options->file);
    exit_code = results ? 0 : fail(results.status());
    if (!results) return;
    write_out("{}", options->json  ? results_as_json(*results)
                    : options->csv ? results_as_csv(*results)
                                   : table_of(*results));
  });
}

}  // namespace lacuna::cli
