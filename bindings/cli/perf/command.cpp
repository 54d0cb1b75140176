#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/commands.hpp"
#include "bindings/cli/perf/perf.hpp"
#include "bindings/cli/shared/command_options.hpp"

namespace lacuna::cli {
namespace {

/// The subject is a collective, or sendrecv, which sends messages around the ring of the ranks.
void add_subject(CLI::App& command, PerfOptions& options) {
  auto subjects = std::make_shared<std::map<std::string, std::optional<Collective>>>();
  for (const auto& [name, collective] : collective_names()) subjects->emplace(name, collective);
  subjects->emplace("sendrecv", std::nullopt);
  std::vector<std::string> allowed;
  for (const auto& [name, subject] : *subjects) allowed.push_back(name);
  command
      .add_option_function<std::string>(
          "collective",
          [&options, subjects](const std::string& name) {
            const auto& subject = subjects->at(name);
            options.messages = !subject;
            options.collective = subject.value_or(Collective::Broadcast);  // its data are those of a message
          },
          "what to measure")
      ->required()
      ->check(CLI::IsMember(allowed));
}

/// Adds --density and --pattern.
void add_sparse(CLI::App& command, PerfOptions& options) {
  CLI::Option* density =
      command
          .add_option("--density", options.densities, "shares of each rank's elements that are not zero, with commas")
          ->delimiter(',')
          ->check(CLI::Range(1e-9, 1.0));
  add_pattern(command, options.pattern, "where these elements lie")->needs(density);
}

}  // namespace

void add_perf(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PerfOptions>();
  CLI::App* command = app.add_subcommand("perf", "measure and check a collective, in the dialect of nccl-tests");
  add_subject(*command, *options);
  add_size(*command, "-b,--minbytes", options->begin_bytes, "smallest size");
  add_size(*command, "-e,--maxbytes", options->end_bytes, "largest size");
  command->add_option("-f,--stepfactor", options->factor, "factor from one size to the next")
      ->check(CLI::Range(2, 1 << 20));
  command->add_option("-n,--iters", options->iterations, "iterations")->check(CLI::Range(1, 1 << 30));
  command->add_option("-w,--warmup_iters", options->warmup, "iterations before those that are timed")
      ->check(CLI::NonNegativeNumber);
  command->add_option("-m,--agg_iters", options->operations, "calls in flight in each iteration")
      ->check(CLI::Range(1, 1024));
  add_name(*command, "-d,--datatype", options->dtype, dtype_names(), "element type");
  add_name(*command, "-o,--op", options->reduction, reduction_names(), "reduction");
  command->add_option("-c,--check", options->check, "compare every result with the exact one; 0 or 1");
  command->add_option("-r,--root", options->root, "root of a broadcast");
  command->add_option("--algorithm", options->algorithms, "algorithms to compare, with commas")->delimiter(',');
  add_method(*command, options->method);
  add_sparse(*command, *options);
  command->add_flag("--percentiles", options->percentiles, "also show p50, p95 and p99 of single iterations");
  command->add_option("--groups", options->groups, "how many groups of ranks measure at the same time")
      ->check(CLI::PositiveNumber);
  add_name(
      *command, "--priority", options->priority,
      std::map<std::string, Priority>{{"high", Priority::High}, {"normal", Priority::Normal}, {"low", Priority::Low}},
      "priority of what is measured");
  add_size(*command, "--beside", options->beside, "bytes of an allreduce that is always in flight meanwhile");
  command->add_option("-J,--json", options->json_path, "also write the results to this file");
  command->callback([options, &exit_code] { exit_code = perf(*options); });
}

}  // namespace lacuna::cli
