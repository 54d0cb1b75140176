#include <CLI/CLI.hpp>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/explain/explain.hpp"
#include "bindings/cli/shared/command_options.hpp"

namespace lacuna::cli {
namespace {

constexpr Rank most_explained = 512;  // ranks; more would take too long, because all graphs of all algorithms are built

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "show which algorithm is taken, why, and what each would cost");
  add_name(*command, "collective", options->collective, collective_names(), "what to explain")->required();
  add_size(*command, "-b,--bytes", options->bytes, "size of the data, or of one block where each rank has a block");
  add_hosts(*command, options->hosts, most_explained, true);
  command->add_option("-a,--algorithm", options->algorithm, "the algorithm to ask for");
  add_method(*command, options->method);
  command->add_option("--density", options->density, "share of each rank's elements that are not zero")
      ->check(CLI::Range(1e-9, 1.0));
  CLI::Option* fill_in = command
                             ->add_option("--fill-in", options->fill_in,
                                          "s ranks have s^A times the entries of one; by default each rank has places "
                                          "of its own")
                             ->check(CLI::Range(0.0, 1.0));
  add_pattern(*command, options->pattern, "where entries lie")->excludes(fill_in);
  command->add_option("--latency", options->latency, "seconds from one rank to another")->check(CLI::PositiveNumber);
  command->add_option("--rate", options->rate, "bytes per second and host")->check(CLI::PositiveNumber);
  command->callback([options, &exit_code] { exit_code = explain(*options); });
}

}  // namespace lacuna::cli
