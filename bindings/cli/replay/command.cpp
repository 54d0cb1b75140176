#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/commands.hpp"
#include "bindings/cli/replay/replay.hpp"
#include "bindings/cli/shared/command_options.hpp"

namespace lacuna::cli {
namespace {

/// Shows how dense calls and methods stand beside each other.
std::string mixture() {
  const Method& method = *all_methods().front();
  return fmt::format("--method dense --method {}:{}", method.name, method.examples.front());
}

void add_replay_method(CLI::App& command, ReplayOptions& options) {
  command
      .add_option_function<std::vector<std::string>>(
          "--method",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              auto choice = replay_choice(text);
              if (!choice) {
                throw CLI::ValidationError("--method", fmt::format("{}. Give --method once for each, as in {}",
                                                                   choice.status().message(), mixture()));
              }
              for (const ReplayChoice& other : options.methods) {
                if (other.label == choice->label)
                  throw CLI::ValidationError("--method", choice->label + " comes twice");
              }
              options.methods.push_back(*std::move(choice));
            }
          },
          fmt::format("dense, or METHOD:OPTION=VALUE,..., and perhaps @ALGORITHM; once for each, as in {}", mixture()))
      ->required()
      ->type_name("METHOD")
      ->allow_extra_args(false);
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand("replay", "reduce recorded gradients by several methods, and compare these");
  command->add_option("file", options->file, "the file of recorded gradients, as `lacuna run --record` writes it")
      ->required()
      ->type_name("FILE");
  add_replay_method(*command, *options);
  command
      ->add_option("-a,--algorithm", options->algorithm, "the algorithm of methods that name none; see `lacuna list`")
      ->type_name("ALGORITHM");
  add_number(*command, "--seed", options->seed, {0}, "the seed of the methods' draws");
  command
      ->add_option("-J,--json", options->json,
                   "the file of results, which has all numbers of each step; NAME-replay.json beside the recording "
                   "unless given")
      ->type_name("FILE");
  command->add_option("--plot", options->plot, "also draw the results as an SVG picture")->type_name("FILE");
  command->callback([options, &exit_code] { exit_code = replay_command(*options); });
}

}  // namespace lacuna::cli
