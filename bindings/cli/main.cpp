#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>

#include "algorithms/registry.hpp"
#include "bindings/cli/arguments.hpp"
#include "bindings/cli/compare.hpp"
#include "bindings/cli/explain.hpp"
#include "bindings/cli/graph_picture.hpp"
#include "bindings/cli/info.hpp"
#include "bindings/cli/launch.hpp"
#include "bindings/cli/perf.hpp"
#include "bindings/cli/replay.hpp"
#include "bindings/cli/run.hpp"
#include "bindings/cli/topology_picture.hpp"
#include "bindings/cli/trace.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {
namespace {

constexpr int usage_error = 2;

int fail(const Status& status) {
  fmt::print(stderr, "lacuna: {}\n", status.message());
  return 1;
}

/// What `lacuna graph` was asked to draw.
struct GraphOptions {
  Call call;
  Hosts hosts = 4;
  Rank position = 0;
  bool in_place = false;
  bool dot = false;
  std::vector<std::uint64_t> follow{};  ///< the part that follows one which ended with these values
};

constexpr std::size_t drawn_count = 1 << 20;  // elements, for plans that depend on how many there are

int draw_graph(const GraphOptions& options) {
  const Rank ranks = options.hosts.size();
  if (options.position >= ranks) {
    return fail({Code::InvalidArgument, fmt::format("position is {}, must be 0 .. {}", options.position, ranks - 1)});
  }
  MethodState state;
  Call call = options.call;
  call.count = moves_data(call.collective) ? drawn_count : 0;
  call.options.state = &state;
  const auto algorithm = select_algorithm(call, options.hosts);
  if (!algorithm) return fail(algorithm.status());
  PartPlan part = part_of(call, **algorithm, options.hosts);
  if (!options.follow.empty()) {
    const Method* method = method_of(call, **algorithm);
    const PlanRequest request{call, **algorithm, options.hosts, drawn_count};
    const auto next = method && method->follow
                          ? method->follow({.request = request, .part = part, .values = options.follow})
                          : std::nullopt;
    if (!next) return fail({Code::InvalidArgument, "--follow: nothing follows a part that ended with these values"});
    part = *next;
  }
  const Algorithm& program = part.program ? *part.program : **algorithm;
  Structure structure = part.structure;
  structure.in_place = options.in_place || structure.data != Data::Own;
  const GraphShape shape{.collective = call.collective,
                         .size = ranks,
                         .position = options.position,
                         .structure = structure,
                         .hosts = program.by_hosts ? options.hosts : Hosts()};
  const std::string& method = call.options.method.text();
  fmt::print("{}", options.dot ? graph_dot(program, shape, method) : graph_table(program, shape, method));
  return 0;
}

int draw_topology(const TopologyOptions& options, bool dot) {
  const auto topologies = make_topologies(options);
  if (!topologies) return fail(topologies.status());
  for (const Topology& topology : *topologies) {
    if (!dot) fmt::print("{} of {} positions\n\n", options.name, topology.size());
    fmt::print("{}{}", dot ? topology_dot(topology) : topology_table(topology),
               &topology == &topologies->back() ? "" : "\n");
  }
  return 0;
}

int list_algorithms() {
  fmt::print("{:<16} {:<20} {}\n", "collective", "algorithm", "P ranks; what each sends");
  for (const Algorithm* algorithm : all_algorithms()) {
    fmt::print("{:<16} {:<20} {}\n", to_string(algorithm->collective), algorithm->name, algorithm->summary);
  }
  fmt::print("\n{:<16} {}\n", "method", "what a call gives up; `lacuna list METHOD` shows its options");
  for (const Method* method : all_methods()) fmt::print("{:<16} {}\n", method->name, method->summary);
  return 0;
}

int list_method(const Method& method) {
  const std::shared_ptr<void> defaults = method.make(nullptr);
  std::vector<std::array<std::string, 4>> rows = {{"option", "default", "allowed", "what"}};
  for (const Option& option : method.options) {
    rows.push_back({std::string(option.name), value_text(option.get(defaults.get())), allowed_text(option),
                    std::string(option.help)});
  }
  std::array<std::size_t, 3> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  fmt::print("{}: {}\n\n", method.name, method.summary);
  for (const auto& [name, value, allowed, help] : rows) {
    fmt::print("{:<{}}  {:<{}}  {:<{}}  {}\n", name, widths[0], value, widths[1], allowed, widths[2], help);
  }
  fmt::print("\n{:<16} {:<20} {:<24} {}\n", "collective", "algorithm", "as", "P ranks; what each sends");
  for (const MethodAlgorithm& one : method.algorithms) {
    fmt::print("{:<16} {:<20} {:<24} {}\n", to_string(one.algorithm->collective), one.algorithm->name, one.name,
               one.summary);
  }
  fmt::print("\nfor example\n");
  for (std::string_view example : method.examples) fmt::print("  {}:{}\n", method.name, example);
  return 0;
}

/// An option whose text is one of some names.
template <class T>
CLI::Option* add_name(CLI::App& command, const std::string& option, T& target, const std::map<std::string, T>& names,
                      const std::string& help) {
  std::vector<std::string> allowed;
  for (const auto& [name, value] : names) allowed.push_back(name);
  return command
      .add_option_function<std::string>(
          option, [&target, names](const std::string& name) { target = names.at(name); }, help)
      ->check(CLI::IsMember(allowed));
}

void add_size(CLI::App& command, const std::string& option, std::size_t& target, const std::string& help) {
  constexpr std::uint64_t tebibyte = std::uint64_t{1} << 40;
  command.add_option(option, target, help)
      ->check(CLI::Range(std::uint64_t{0}, tebibyte))
      ->transform(CLI::AsSizeValue(false));
}

void add_method(CLI::App& command, MethodOptions& method) {
  command.add_option_function<std::string>(
      "--method",
      [&method](const std::string& text) {
        auto made = method_options(text);
        if (!made) throw CLI::ValidationError("--method", std::string(made.status().message()));
        method = *std::move(made);
      },
      "what the call gives up: METHOD:OPTION=VALUE,...; `lacuna list METHOD` shows its options");
}

void add_list(CLI::App& app, int& exit_code) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("list", "all collectives, algorithms and methods, or the options of a method");
  std::vector<std::string> names;
  for (const Method* method : all_methods()) names.emplace_back(method->name);
  command->add_option("method", *name, "its options")->check(CLI::IsMember(names));
  command->callback([name, &exit_code] {
    exit_code = name->empty() ? list_algorithms() : list_method(*method_options(*name)->method());
  });
}

/// Ranks by their number (`alone`: each on a host of its own) or by those on each host.
void add_hosts(CLI::App& command, Hosts& hosts, Rank most, bool alone) {
  CLI::Option* ranks = command.add_option_function<Rank>(
      "-p,--ranks",
      [&hosts, alone](Rank size) {
        hosts = alone ? hosts_with(std::vector(static_cast<std::size_t>(size), 1)) : Hosts(size);
      },
      "number of ranks");
  ranks->check(CLI::Range(1, most));
  command
      .add_option_function<std::vector<Rank>>(
          "--hosts",
          [&hosts, most](const std::vector<Rank>& on_each) {
            hosts = hosts_with(on_each);
            if (hosts.size() <= most) return;
            throw CLI::ValidationError("--hosts", fmt::format("{} ranks, must be at most {}", hosts.size(), most));
          },
          "instead: how many ranks each host has, such as 4,4,2")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->excludes(ranks);
}

void add_topology(CLI::App& graph, int& exit_code) {
  auto options = std::make_shared<TopologyOptions>();
  auto dot = std::make_shared<bool>(false);
  CLI::App* command = graph.add_subcommand("topology", "show who stands next to whom");
  command->add_option("name", options->name, "a shape, or what --lists holds")
      ->required()
      ->check(CLI::IsMember(topology_names()));
  add_hosts(*command, options->hosts, 1024, false);
  command->add_option("--sides", options->sides, "rows and columns of a torus, such as 3,4")
      ->delimiter(',')
      ->expected(2);
  command->add_option("--lists", options->lists, "by position, such as \"1,2;3;;\"; of a ring, its order");
  for (const char* size : {"--ranks", "--hosts"}) {  // these two say themselves how many positions there are
    command->get_option("--sides")->excludes(command->get_option(size));
    command->get_option("--lists")->excludes(command->get_option(size));
  }
  command->add_flag("--dot", *dot, "in Graphviz's language");
  command->callback([options, dot, &exit_code] { exit_code = draw_topology(*options, *dot); });
}

void add_graph(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<GraphOptions>();
  CLI::App* command = app.add_subcommand("graph", "show one position's task graph, or a topology");
  CLI::Option* collective =
      add_name(*command, "collective", options->call.collective, collective_names(), "what to draw");
  add_topology(*command, exit_code);
  command->add_option("-a,--algorithm", options->call.options.algorithm, "its algorithm; see `lacuna list`");
  add_hosts(*command, options->hosts, 65536, false);
  command->add_option("--position", options->position, "whose graph")->check(CLI::NonNegativeNumber);
  command->add_flag("--in-place", options->in_place, "input and output are one buffer");
  command->add_flag("--dot", options->dot, "in Graphviz's language");
  add_method(*command, options->call.options.method);
  command->add_option("--follow", options->follow, "the part that follows one which ended with these values")
      ->delimiter(',');
  command->callback([=, &exit_code] {
    if (!command->get_subcommands().empty()) return;
    if (collective->empty()) throw CLI::RequiredError("collective");
    exit_code = draw_graph(*options);
  });
}

constexpr Rank most_explained = 512;  // ranks; all graphs of all algorithms are built

void add_explain(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "show which algorithm is taken, why, and what each would cost");
  add_name(*command, "collective", options->collective, collective_names(), "what to explain")->required();
  add_size(*command, "-b,--bytes", options->bytes, "size of the data; of a block where there is one per rank");
  add_hosts(*command, options->hosts, most_explained, true);
  command->add_option("-a,--algorithm", options->algorithm, "ask for one");
  add_method(*command, options->method);
  command->add_option("--density", options->density, "share of each rank's elements that are not zero")
      ->check(CLI::Range(1e-9, 1.0));
  command->add_option("--fill-in", options->fill_in, "s ranks have s^A times the entries of one; unless given, uniform")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--latency", options->latency, "seconds from one rank to another")->check(CLI::PositiveNumber);
  command->add_option("--rate", options->rate, "bytes per second and host")->check(CLI::PositiveNumber);
  command->callback([options, &exit_code] { exit_code = explain(*options); });
}

/// A collective, or sendrecv: messages around the ring of the ranks.
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
            options.collective = subject.value_or(Collective::Broadcast);  // whose data are those of a message
          },
          "what to measure")
      ->required()
      ->check(CLI::IsMember(allowed));
}

void add_pattern(CLI::App& command, PerfOptions& options) {
  CLI::Option* density = command
                             .add_option_function<double>(
                                 "--density",
                                 [&options](double share) {
                                   options.pattern = options.pattern.value_or(PatternOptions());
                                   options.pattern->density = share;
                                 },
                                 "share of each rank's elements that are not zero")
                             ->check(CLI::Range(1e-9, 1.0));
  command
      .add_option_function<std::string>(
          "--pattern",
          [&options](const std::string& text) {
            auto pattern = pattern_options(text);
            if (!pattern) throw CLI::ValidationError("--pattern", std::string(pattern.status().message()));
            pattern->density = options.pattern.value_or(PatternOptions()).density;
            options.pattern = *std::move(pattern);
          },
          "where they lie: uniform, overlap, clustered, powerlaw:A, blocks:B or skewed")
      ->needs(density);
}

void add_perf(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PerfOptions>();
  CLI::App* command = app.add_subcommand("perf", "measure and check a collective, in the dialect of nccl-tests");
  add_subject(*command, *options);
  add_size(*command, "-b,--minbytes", options->begin_bytes, "smallest size");
  add_size(*command, "-e,--maxbytes", options->end_bytes, "largest size");
  command->add_option("-f,--stepfactor", options->factor, "from size to size")->check(CLI::Range(2, 1 << 20));
  command->add_option("-n,--iters", options->iterations, "iterations")->check(CLI::Range(1, 1 << 30));
  command->add_option("-w,--warmup_iters", options->warmup, "iterations before")->check(CLI::NonNegativeNumber);
  command->add_option("-m,--agg_iters", options->operations, "calls in flight in each")->check(CLI::Range(1, 1024));
  add_name(*command, "-d,--datatype", options->dtype, dtype_names(), "element type");
  add_name(*command, "-o,--op", options->reduction, reduction_names(), "reduction");
  command->add_option("-c,--check", options->check, "compare every result with the exact one; 0 or 1");
  command->add_option("-r,--root", options->root, "root of a broadcast");
  command->add_option("--algorithm", options->algorithms, "algorithms to compare, with commas")->delimiter(',');
  add_method(*command, options->method);
  add_pattern(*command, *options);
  command->add_flag("--percentiles", options->percentiles, "also p50, p95 and p99 of single iterations");
  command->add_option("--groups", options->groups, "split the ranks into so many groups that measure at the same time")
      ->check(CLI::PositiveNumber);
  add_name(
      *command, "--priority", options->priority,
      std::map<std::string, Priority>{{"high", Priority::High}, {"normal", Priority::Normal}, {"low", Priority::Low}},
      "of what is measured");
  add_size(*command, "--beside", options->beside, "bytes of an allreduce that is always in flight meanwhile");
  command->add_option("-J,--json", options->json_path, "also write the results to this file");
  command->callback([options, &exit_code] { exit_code = perf(*options); });
}

void add_compare(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "compare two results of `lacuna perf -J`");
  command->add_option("before", options->before, "a result")->required()->check(CLI::ExistingFile);
  command->add_option("after", options->after, "a later one")->required()->check(CLI::ExistingFile);
  command->add_option("-t,--tolerance", options->tolerance, "how much longer a time may be, 0.1 for a tenth")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--allow-missing", options->allow_missing, "the later one may lack rows");
  command->callback([options, &exit_code] { exit_code = compare(*options); });
}

/// Cuts off the program that `launch` is to run: from the first word that is no option of launch's own, or from after
/// `--`. Its arguments are none of ours, whatever they look like.
std::vector<std::string> take_program(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "launch") return {};
  std::size_t at = 1;
  while (at < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "--") {
    at += arguments[at] == "-n" || arguments[at] == "--ranks" ? 2 : 1;
  }
  at = std::min(at, arguments.size());
  const std::size_t begin = at < arguments.size() && arguments[at] == "--" ? at + 1 : at;
  std::vector<std::string> program(arguments.begin() + static_cast<std::ptrdiff_t>(begin), arguments.end());
  arguments.resize(at);
  return program;
}

void add_launch(CLI::App& app, const std::vector<std::string>& program, int& exit_code) {
  auto options = std::make_shared<LaunchOptions>();
  auto raw = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("launch", "run a program as N local ranks: launch -n N [--] PROGRAM ARGUMENTS");
  command->add_option("-n,--ranks", options->ranks, "number of ranks")->required()->check(CLI::Range(1, 1024));
  command->add_flag("--raw", *raw, "do not put the rank before each line");
  command->callback([=, &program, &exit_code] {
    options->prefix = !*raw;
    options->command = program;
    exit_code = launch(*options);
  });
}

void add_trace(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App* command = app.add_subcommand("trace", "merge the traces that a job's ranks left in a folder");
  command->add_option("folder", options->folder, "what LACUNA_TRACE was")->required();
  command->add_option("-o,--output", options->output, "the merged trace; trace.json in the folder unless given");
  command->callback([options, &exit_code] { exit_code = trace(*options); });
}

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "carry out the experiment that a TOML file describes");
  command->add_option("config", options->config, "the experiment")->required();
  command->add_flag("--fresh", options->fresh, "forget what an earlier run of this config has reached");
  command->add_flag("-q,--quiet", options->quiet, "show the final table only");
  command->add_flag("--predict", options->predict, "also show what each method would take at some link rates");
  CLI::Option* record = command->add_option(
      "--record", options->record.file, "write the gradients of the first method to this file, for `lacuna replay`");
  command->add_option("--record-every", options->record.every, "only those of each N-th step")
      ->check(CLI::Range(1, 1'000'000'000))
      ->needs(record);
  command->callback([options, &exit_code] { exit_code = run_command(*options); });
}

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
          "dense, or METHOD:OPTION=VALUE,...; any number of times")
      ->required()
      ->allow_extra_args(false);
}

void add_replay(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand("replay", "reduce recorded gradients by several methods, and compare these");
  command->add_option("file", options->file, "of recorded gradients, as `lacuna run --record` writes it")->required();
  add_replay_method(*command, *options);
  command->add_option("-a,--algorithm", options->algorithm, "of all methods; see `lacuna list`");
  command->add_option("--seed", options->seed, "of what methods draw");
  command->add_option("--json", options->json, "the file of results, all numbers of each step among them");
  command->add_option("--plot", options->plot, "also draw them, as an SVG picture");
  command->callback([options, &exit_code] { exit_code = replay_command(*options); });
}

/// Is the first word a command? CLI11 itself would only say that there is none.
bool knows_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return true;
  std::string known;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == arguments.front()) return true;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  fmt::print(stderr, "lacuna: no command is called '{}'; there are: {}\n", arguments.front(), known);
  return false;
}

}  // namespace
}  // namespace lacuna::cli

int main(int argc, char** argv) {
  using namespace lacuna::cli;
  int exit_code = 0;
  CLI::App app("lacuna: collectives that send only what matters", "lacuna");
  app.set_version_flag("--version", std::string(lacuna::version()));
  app.require_subcommand(1);
  auto markdown = std::make_shared<bool>(false);
  CLI::App* info_command = app.add_subcommand("info", "versions, transports, and the configuration in effect");
  info_command->add_flag("--markdown", *markdown, "the manual's table of variables instead");
  info_command->callback([&exit_code, markdown] { exit_code = info(*markdown); });
  add_list(app, exit_code);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::vector<std::string> program = take_program(arguments);
  add_graph(app, exit_code);
  add_explain(app, exit_code);
  add_perf(app, exit_code);
  add_compare(app, exit_code);
  add_launch(app, program, exit_code);
  add_run(app, exit_code);
  add_replay(app, exit_code);
  add_trace(app, exit_code);
  if (!knows_command(app, arguments)) return usage_error;
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : usage_error;
  }
  return exit_code;
}
