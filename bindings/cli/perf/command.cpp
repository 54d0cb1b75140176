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
          [&options, subjects, allowed](const std::string& name) {
            check_name("collective", "collective", name, allowed);
            const auto& subject = subjects->at(name);
            options.messages = !subject;
            options.collective = subject.value_or(Collective::Broadcast);  // its data are those of a message
          },
          fmt::format("what to measure: {}", fmt::join(allowed, ", ")))
      ->required()
      ->type_name("NAME");
}

/// Adds --root, for collectives that have one.
void add_root(CLI::App& command, PerfOptions& options) {
  add_number(command, "-r,--root", options.root, {0}, "root of a collective that has one");
  command.parse_complete_callback([&command, &options] {
    if (command.count("--root") == 0 || (!options.messages && has_root(options.collective))) return;
    throw CLI::ValidationError("--root", fmt::format("{} has no root", options.subject()));
  });
}

/// Adds --density and --pattern.
void add_sparse(CLI::App& command, PerfOptions& options) {
  CLI::Option* density = add_density(command, options.densities);
  add_pattern(command, options.pattern, "where these elements lie")->needs(density);
}

}  // namespace

void add_perf(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PerfOptions>();
  CLI::App* command = app.add_subcommand("perf", "measure and check a collective, in the dialect of nccl-tests");
  add_subject(*command, *options);
  add_quantity<quantity::Size>(*command, "-b,--minbytes", options->begin_bytes, "smallest size");
  add_quantity<quantity::Size>(*command, "-e,--maxbytes", options->end_bytes, "largest size");
  add_number(*command, "-f,--stepfactor", options->factor, {2, 1 << 20}, "factor from one size to the next");
  command
      ->add_option("-n,--iters", options->iterations,
                   "iterations, at least 1; if it is not given, as many as a stable time takes")
      ->type_name("N")
      ->check(within(Limits<int>{1}));
  add_number(*command, "-w,--warmup_iters", options->warmup, {0}, "iterations before those that are timed");
  add_number(*command, "-m,--agg_iters", options->operations, {1, 1024}, "calls in flight in each iteration");
  add_name(*command, "-d,--datatype", options->dtype, dtype_names(), "element type");
  add_name(*command, "-o,--op", options->reduction, reduction_names(), "reduction");
  command->add_option("-c,--check", options->check, "compare every result with the exact one")
      ->type_name("0|1")
      ->capture_default_str();
  add_name(*command, "--device", options->device, {{"host", MemoryKind::Host}, {"cuda", MemoryKind::Cuda}},
           "memory of the buffers");
  add_name(*command, "--memory", options->mapped, {{"malloc", false}, {"mapped", true}},
           "memory of buffers of the host");
  add_root(*command, *options);
  command->add_option("--algorithm", options->algorithms, "algorithms to compare, with commas; see `lacuna list`")
      ->type_name("ALGORITHM")
      ->delimiter(',');
  add_method(*command, options->method);
  add_sparse(*command, *options);
  command->add_flag("--percentiles", options->percentiles,
                    "also show the least time, p50, p95 and p99 of single iterations");
  add_number(*command, "--groups", options->groups, {1}, "how many groups of ranks measure at the same time");
  add_name(*command, "--priority", options->priority, priority_names(), "priority of what is measured");
  add_quantity<quantity::Size>(*command, "--beside", options->beside,
                               "size of an allreduce that is always in flight meanwhile");
  command->add_option("-J,--json", options->json_path, "also write the results to this file")->type_name("FILE");
  command->callback([options, &exit_code] { exit_code = perf(*options); });
}

}  // namespace lacuna::cli
