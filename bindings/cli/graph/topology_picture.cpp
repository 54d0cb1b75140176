#include "bindings/cli/graph/topology_picture.hpp"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <iterator>
#include <map>

namespace lacuna::cli {
namespace {

/// Reads lists such as "1,2;3;;".
Result<Topology::Lists> parse_lists(std::string_view text) {
  Topology::Lists lists(1);
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    if (*at == ';') {
      lists.emplace_back();
      ++at;
    } else if (*at == ',' || *at == ' ') {
      ++at;
    } else {
      Rank number = 0;
      const auto [next, error] = std::from_chars(at, end, number);
      if (error != std::errc()) {
        return Status(Code::InvalidArgument, fmt::format("lists are \"{}\", must be numbers with , between them and ; "
                                                         "between positions, such as \"1,2;3;;\"",
                                                         text));
      }
      lists.back().push_back(number);
      at = next;
    }
  }
  return lists;
}

/// Returns one number for each position, or all numbers of one list.
std::vector<Rank> joined(const Topology::Lists& lists) {
  std::vector<Rank> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

using Made = Result<std::vector<Topology>>;

Made one(Result<Topology> topology) {
  if (!topology) return topology.status();
  return std::vector{*std::move(topology)};
}

Made from_lists(const TopologyOptions& options, Result<Topology> (*make)(const Topology::Lists&)) {
  const auto lists = parse_lists(options.lists);
  return lists ? one(make(*lists)) : lists.status();
}

Made make_torus(const TopologyOptions& options) {
  if (options.sides.empty()) return one(Topology::torus(options.hosts.size()));
  return one(Topology::torus(options.sides[0], options.sides[1]));
}

Made make_ring(const TopologyOptions& options) {
  if (options.lists.empty()) return one(Topology::ring(options.hosts.size()));
  return from_lists(options, [](const Topology::Lists& order) { return Topology::ring(joined(order)); });
}

Made make_double_tree(const TopologyOptions& options) {
  const auto trees = Topology::double_binary_tree(options.hosts.size());
  return std::vector(trees.begin(), trees.end());
}

const std::map<std::string, std::function<Made(const TopologyOptions&)>>& makers() {
  using Options = TopologyOptions;
  static const std::map<std::string, std::function<Made(const Options&)>> all = {
      {"ring", make_ring},
      {"torus", make_torus},
      {"hypercube", [](const Options& options) { return one(Topology::hypercube(options.hosts.size())); }},
      {"two_level", [](const Options& options) { return one(Topology::two_level(options.hosts)); }},
      {"binomial_tree", [](const Options& options) { return one(Topology::binomial_tree(options.hosts.size())); }},
      {"binary_tree", [](const Options& options) { return one(Topology::binary_tree(options.hosts.size())); }},
      {"star", [](const Options& options) { return one(Topology::star(options.hosts.size())); }},
      {"double_binary_tree", make_double_tree},
      {"parents",
       [](const Options& options) {
         return from_lists(options,
                           [](const Topology::Lists& parents) { return Topology::from_parents(joined(parents)); });
       }},
      {"children", [](const Options& options) { return from_lists(options, Topology::from_children); }},
      {"neighbours", [](const Options& options) { return from_lists(options, Topology::from_neighbours); }},
  };
  return all;
}

void add_subtree(const Topology& tree, Rank root, int depth, std::string& text) {
  text += fmt::format("{:{}}{}\n", "", 3 * depth, root);
  for (Rank child : tree.children(root)) add_subtree(tree, child, depth + 1, text);
}

/// Writes a line for each value of the first coordinate.
void add_rows(const Topology& grid, std::string& text) {
  for (Rank leader : grid.line(0, 0).positions) {
    for (Rank position : grid.line(leader, 1).positions) text += fmt::format("{:>4}", position);
    text += '\n';
  }
}

}  // namespace

std::vector<std::string> topology_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : makers()) names.push_back(name);
  return names;
}

Result<std::vector<Topology>> make_topologies(const TopologyOptions& options) {
  const auto refuse = [&](std::string_view what) {
    return Status(Code::InvalidArgument, fmt::format("{}: {}", options.name, what));
  };
  const bool holds_lists = options.name == "parents" || options.name == "children" || options.name == "neighbours";
  if (holds_lists && options.lists.empty()) return refuse("--lists is needed");
  if (!holds_lists && options.name != "ring" && !options.lists.empty()) return refuse("it takes no --lists");
  if (options.name != "torus" && !options.sides.empty()) return refuse("only a torus has --sides");
  return makers().at(options.name)(options);
}

std::string topology_table(const Topology& topology) {
  const bool has_places = topology.dimensions() > 0, has_parents = topology.has_parents();
  std::string text;
  if (topology.dimensions() == 2) {
    add_rows(topology, text);
  } else if (has_parents) {
    for (Rank i = 0; i < topology.size(); ++i) {
      if (!topology.parent(i)) add_subtree(topology, i, 0, text);
    }
  }
  if (!text.empty()) text += '\n';
  auto out = std::back_inserter(text);
  fmt::format_to(out, "position{}{}  neighbours\n", has_places ? "  coordinates" : "",
                 has_parents ? "  parent  children            " : "");
  for (Rank i = 0; i < topology.size(); ++i) {
    fmt::format_to(out, "{:>8}", i);
    if (has_places) fmt::format_to(out, "  {:<11}", fmt::format("{}", fmt::join(topology.coordinates(i), ", ")));
    if (has_parents) {
      const auto parent = topology.parent(i);
      fmt::format_to(out, "  {:<6}  {:<20}", parent ? fmt::to_string(*parent) : "-",
                     fmt::format("{}", fmt::join(topology.children(i), ", ")));
    }
    fmt::format_to(out, "  {}\n", fmt::join(topology.neighbours(i), ", "));
  }
  return text;
}

std::string topology_dot(const Topology& topology) {
  const bool is_tree = topology.has_parents() && topology.dimensions() == 0;
  std::string text = is_tree ? "digraph lacuna {\n" : "graph lacuna {\n";
  auto out = std::back_inserter(text);
  for (Rank i = 0; i < topology.size(); ++i) {
    const std::string place = fmt::format("{}", fmt::join(topology.coordinates(i), ", "));
    fmt::format_to(out, "  {} [label=\"{}{}\"];\n", i, i, place.empty() ? "" : fmt::format("\\n({})", place));
  }
  for (Rank i = 0; i < topology.size(); ++i) {
    for (Rank other : is_tree ? topology.children(i) : topology.neighbours(i)) {
      if (is_tree || other > i) fmt::format_to(out, "  {} {} {};\n", i, is_tree ? "->" : "--", other);
    }
  }
  return text + "}\n";
}

}  // namespace lacuna::cli
