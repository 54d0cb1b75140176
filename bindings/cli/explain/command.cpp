#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/explain/explain.hpp"
#include "bindings/cli/shared/command_options.hpp"
#include "runtime/values/processors.hpp"

namespace lacuna::cli {
namespace {

constexpr Rank most_explained = 512;  // ranks; more would take too long, because all graphs of all algorithms are built

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "show which algorithm is taken, why, and what each would cost");
  add_name(*command, "collective", options->collective, collective_names(), "collective")->required();
  add_quantity<quantity::Size>(*command, "-b,--bytes", options->bytes,
                               "size of the data, or of one block where each rank has a block");
  add_hosts(*command, options->hosts, most_explained, true);
  command->add_option("-a,--algorithm", options->algorithm, "the algorithm to ask for; see `lacuna list`")
      ->type_name("ALGORITHM");
  add_method(*command, options->method);
  add_density(*command, options->density);
  CLI::Option* fill_in = command
                             ->add_option("--fill-in", options->fill_in,
                                          "s ranks have s^A times the entries of one; by default each rank has places "
                                          "of its own")
                             ->type_name("A")
                             ->check(within(Limits<double>{0, 1}));
  add_pattern(*command, options->pattern, "where entries lie")->excludes(fill_in);
  add_quantity<quantity::Duration>(*command, "--latency", options->latency, "time from one rank to another");
  add_quantity<quantity::Rate>(*command, "--rate", options->rate, "rate of each host's link");
  const CLI::Option* tuned =
      command
          ->add_option_function<std::string>(
              "--tuned",
              [options](const std::string& path) {
                auto times = MessageTimes::read(path);
                if (!times) throw CLI::ValidationError("--tuned", std::string(times.status().message()));
                options->inside = *std::move(times);
              },
              "file of `lacuna tune`, for calls inside a host; also says how many processors it has")
          ->type_name("FILE");
  const CLI::Option* processors =
      command->add_option("--processors", options->processors, "processors of each host; as of this one by default")
          ->type_name("N")
          ->check(within(Limits<int>{1, 1 << 20}));
  command->add_flag("-J,--json", options->json, "print JSON");
  command->callback([options, processors, tuned, &exit_code] {
    if (processors->count() == 0) {
      options->processors = tuned->count() > 0 ? options->inside.processors : usable_processors();
    }
    const std::vector<std::uint32_t> each(static_cast<std::size_t>(options->hosts.size()),
                                          static_cast<std::uint32_t>(options->processors));
    options->hosts = options->hosts.with_processors(each).with_board();
    exit_code = explain(*options);
  });
}

}  // namespace lacuna::cli
