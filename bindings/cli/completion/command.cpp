#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/completion/completion.hpp"
#include "bindings/cli/shared/output.hpp"

namespace lacuna::cli {

void add_completion(CLI::App& app, int&) {
  app.add_subcommand("completion", "print a script for bash, which completes the words of command lines")
      ->callback([&app] { write_out("{}", bash_completion(app)); });
}

}  // namespace lacuna::cli
