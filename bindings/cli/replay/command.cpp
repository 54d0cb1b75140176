#include <CLI/CLI.hpp>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/replay/replay.hpp"

namespace lacuna::cli {
namespace {

void add_replay_method(CLI::App& command, ReplayOptions& options) {
  command
      .add_option_function<std::vector<std::string>>(
          "--method",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              auto choice = replay_choice(text);
              if (!choice) throw CLI::ValidationError("--method", std::string(choice.status().message()));
              for (const ReplayChoice& other : options.methods) {
                if (other.label == choice->label)
                  throw CLI::ValidationError("--method", choice->label + " comes twice");
              }
              options.methods.push_back(*std::move(choice));
            }
          },
          "dense, or METHOD:OPTION=VALUE,..., and perhaps @ALGORITHM; any number of times")
      ->required()
      ->allow_extra_args(false);
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand("replay", "reduce recorded gradients by several methods, and compare these");
  command->add_option("file", options->file, "the file of recorded gradients, as `lacuna run --record` writes it")
      ->required();
  add_replay_method(*command, *options);
  command->add_option("-a,--algorithm", options->algorithm,
                      "the algorithm of methods that name none; see `lacuna list`");
  command->add_option("--seed", options->seed, "the seed of the methods' draws");
  command->add_option("--json", options->json, "the file of results, which has all numbers of each step");
  command->add_option("--plot", options->plot, "also draw the results as an SVG picture");
  command->callback([options, &exit_code] { exit_code = replay_command(*options); });
}

}  // namespace lacuna::cli
