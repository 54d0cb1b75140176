#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/run/config.hpp"
#include "bindings/cli/run/run.hpp"
#include "bindings/cli/shared/command_options.hpp"
#include "bindings/cli/shared/output.hpp"

namespace lacuna::cli {

void add_run(CLI::App& app, int& exit_code) {
  constexpr Rank most_ranks = 512;  // of a dry run; more would take too long, because all graphs are built
  auto options = std::make_shared<RunOptions>();
  auto with_keys = std::make_shared<bool>(false);
  auto hosts = std::make_shared<Hosts>(1);
  CLI::App* command = app.add_subcommand("run", "carry out the experiment that a TOML file describes");
  CLI::Option* config = command->add_option("config", options->config, "the experiment")->type_name("FILE");
  CLI::Option* keys =
      command->add_flag("--keys", *with_keys, "print the manual's tables of all keys of a config instead");
  config->excludes(keys);
  command->add_flag("--fresh", options->fresh, "forget what an earlier run of this config has reached");
  command->add_flag("-q,--quiet", options->quiet, "show the final table only");
  command->add_flag("--predict", options->predict, "also show what each method would take at some link rates");
  CLI::Option* dry =
      command->add_flag("--dry-run", options->dry,
                        "only show the values in effect, what is done and left, algorithms and predicted bytes");
  add_hosts(*command, *hosts, most_ranks, false);
  for (const char* name : {"--ranks", "--hosts"}) command->get_option(name)->needs(dry);
  CLI::Option* record = command
                            ->add_option("--record", options->record.file,
                                         "write the gradients of the first method to this file, for `lacuna replay`")
                            ->type_name("FILE");
  command->add_option("--record-every", options->record.every, "record only each N-th step")
      ->check(CLI::Range(1, 1'000'000'000))
      ->needs(record);
  command->callback([=, &exit_code] {
    if (*with_keys) {
      write_out("{}", keys_as_markdown());
      return;
    }
    if (config->count() == 0) throw CLI::RequiredError("config");
    if (command->count("--ranks") + command->count("--hosts") > 0) options->hosts = *hosts;
    exit_code = run_command(*options);
  });
}

}  // namespace lacuna::cli
