#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bindings/cli/commands.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {

void add_aggregate(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "aggregate", "serve the ranks of a job as one of its aggregators; LACUNA_RANK is behind those of the ranks");
  command->callback([&exit_code] {
    const Status served = aggregate();
    if (!served) fmt::print(stderr, "lacuna aggregate: {}\n", served.to_string());
    exit_code = served ? 0 : 1;
  });
}

}  // namespace lacuna::cli
