#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/tune/tune.hpp"

namespace lacuna::cli {

void add_tune(CLI::App& app, int& exit_code) {
  auto path = std::make_shared<std::string>("lacuna-tuned.json");
  CLI::App* command =
      app.add_subcommand("tune", "measure messages inside this host, for the predictions of `lacuna explain`");
  command->add_option("-o,--output", *path, "the file to write")->type_name("FILE")->capture_default_str();
  command->callback([path, &exit_code] { exit_code = tune(*path); });
}

}  // namespace lacuna::cli
