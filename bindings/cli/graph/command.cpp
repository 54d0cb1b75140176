#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/commands.hpp"
#include "bindings/cli/explain/cost.hpp"
#include "bindings/cli/graph/picture.hpp"
#include "bindings/cli/graph/topology_picture.hpp"
#include "bindings/cli/shared/command_options.hpp"
#include "bindings/cli/shared/output.hpp"
#include "runtime/graph/frame.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

/// The arguments of `lacuna graph`.
struct GraphOptions {
  Call call;
  Hosts hosts = 4;
  Rank position = 0;
  bool in_place = false;
  bool dot = false;
  std::vector<std::uint64_t> follow{};    ///< for the part that follows one which ended with these values
  std::vector<std::string> parameters{};  ///< parameters of the program, each as "name=value"
};

constexpr std::size_t drawn_count = 1 << 20;  // elements; plans depend on how many there are

/// Sets parameters of a program, each given as "name=value".
Status set_parameters(const Algorithm& program, const std::vector<std::string>& given, Parameters& parameters) {
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return {Code::InvalidArgument, fmt::format("--set: '{}' must be NAME=VALUE", text)};
    }
    if (!program.parameters) {
      return {Code::InvalidArgument, fmt::format("--set: the program of {} {} has no parameters",
                                                 to_string(program.collective), program.name)};
    }
    const Status set = parameters.set(*program.parameters, text.substr(0, equals), text.substr(equals + 1));
    if (!set) return {set.code(), fmt::format("--set: {}", set.message())};
  }
  return {};
}

int draw_graph(const GraphOptions& options) {
  const Rank ranks = options.hosts.size();
  if (options.position >= ranks) {
    return fail({Code::InvalidArgument, fmt::format("position is {}, must be 0 .. {}", options.position, ranks - 1)});
  }
  MethodState state;
  Call call = options.call;
  call.count = moves_data(call.collective) ? drawn_count : 0;
  call.options.state = &state;
  const auto algorithm = select_algorithm(call, options.hosts.with_board());
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
  Structure structure = structure_of_call(part.structure, options.in_place);
  if (Status set = set_parameters(program, options.parameters, structure.parameters); !set) return fail(set);
  const GraphShape shape{.collective = call.collective,
                         .size = ranks,
                         .position = options.position,
                         .structure = structure,
                         .hosts = program.by_hosts ? options.hosts : Hosts()};
  std::string method = call.options.method.text();
  if (!options.parameters.empty()) method += (method.empty() ? "" : ", ") + structure.parameters.text();
  if (const Status fits = program_of(program, shape).status(); !fits) return fail(fits);
  write_out("{}", options.dot ? graph_dot(program, shape, method) : graph_table(program, shape, method));
  return 0;
}

int draw_topology(const TopologyOptions& options, bool dot) {
  const auto topologies = make_topologies(options);
  if (!topologies) return fail(topologies.status());
  for (const Topology& topology : *topologies) {
    if (!dot) write_out("{} of {}\n\n", options.name, count_of(topology.size(), "position"));
    write_out("{}{}", dot ? topology_dot(topology) : topology_table(topology),
              &topology == &topologies->back() ? "" : "\n");
  }
  return 0;
}

void add_topology(CLI::App& graph, int& exit_code) {
  auto options = std::make_shared<TopologyOptions>();
  auto dot = std::make_shared<bool>(false);
  CLI::App* command = graph.add_subcommand("topology", "show who stands next to whom");
  const std::vector<std::string> names = topology_names();
  command
      ->add_option_function<std::string>(
          "name",
          [options, names](const std::string& name) {
            check_name("name", "topology", name, names);
            options->name = name;
          },
          fmt::format("a shape, or what --lists holds: {}", fmt::join(names, ", ")))
      ->required()
      ->type_name("NAME");
  add_hosts(*command, options->hosts, 1024, false);
  command->add_option("--sides", options->sides, "rows and columns of a torus, such as 3,4")
      ->type_name("N")
      ->delimiter(',')
      ->expected(2);
  command->add_option("--lists", options->lists, "the lists by position, such as \"1,2;3;;\"; for a ring, its order")
      ->type_name("LISTS");
  for (const char* size : {"--ranks", "--hosts"}) {  // these two tell the number of positions by themselves
    command->get_option("--sides")->excludes(command->get_option(size));
    command->get_option("--lists")->excludes(command->get_option(size));
  }
  command->add_flag("--dot", *dot, "write it in Graphviz's language");
  command->callback([options, dot, &exit_code] { exit_code = draw_topology(*options, *dot); });
}

}  // namespace

void add_graph(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<GraphOptions>();
  CLI::App* command = app.add_subcommand("graph", "show one position's task graph, or a topology");
  CLI::Option* collective =
      add_name(*command, "collective", options->call.collective, collective_names(), "collective");
  add_topology(*command, exit_code);
  command->add_option("-a,--algorithm", options->call.options.algorithm, "the algorithm; see `lacuna list`")
      ->type_name("ALGORITHM");
  add_hosts(*command, options->hosts, 65536, false);
  add_number(*command, "--position", options->position, {0}, "the position whose graph is shown");
  command->add_flag("--in-place", options->in_place, "input and output are one buffer");
  command->add_flag("--dot", options->dot, "write it in Graphviz's language");
  add_method(*command, options->call.options.method);
  command->add_option("--follow", options->follow, "show the part that follows one which ended with these values")
      ->type_name("VALUE")
      ->delimiter(',');
  command->add_option("--set", options->parameters, "a parameter of the program, such as rounds=2; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->callback([=, &exit_code] {
    if (!command->get_subcommands().empty()) return;
    if (collective->empty()) throw CLI::RequiredError("collective");
    exit_code = draw_graph(*options);
  });
}

}  // namespace lacuna::cli
