#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/command_options.hpp"
#include "bindings/cli/commands.hpp"
#include "bindings/cli/explain.hpp"
#include "bindings/cli/graph_picture.hpp"
#include "bindings/cli/topology_picture.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

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
    if (!dot) fmt::print("{} of {}\n\n", options.name, count_of(topology.size(), "position"));
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

constexpr Rank most_explained = 512;  // ranks; all graphs of all algorithms are built

}  // namespace

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

}  // namespace lacuna::cli
