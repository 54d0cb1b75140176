#include <CLI/CLI.hpp>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/info/info.hpp"

namespace lacuna::cli {

void add_info(CLI::App& app, int& exit_code) {
  auto markdown = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("info", "show versions, where a job would listen, and the configuration in effect");
  command->add_flag("--markdown", *markdown, "print the manual's table of variables instead");
  command->callback([&exit_code, markdown] { exit_code = info(*markdown); });
}

}  // namespace lacuna::cli
