#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/manual/manual.hpp"
#include "bindings/cli/shared/command_options.hpp"

namespace lacuna::cli {

void add_manual(CLI::App& app, int& exit_code) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("manual", "write the manual pages of all commands, for `man`");
  command->add_option("folder", *folder, "the folder for lacuna.1, lacuna-perf.1 and so on")
      ->required()
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory);
  command->callback([&app, &exit_code, folder] {
    if (const Status written = write_manual(app, *folder); !written) exit_code = fail(written);
  });
}

}  // namespace lacuna::cli
