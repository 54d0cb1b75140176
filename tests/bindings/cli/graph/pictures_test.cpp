#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/phases/left_out.hpp"
#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/skip.hpp"
#include "bindings/cli/graph/picture.hpp"
#include "bindings/cli/graph/topology_picture.hpp"
#include "runtime/values/count_of.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::cli {
namespace {

/// Calls `body` for every shape that `lacuna graph` draws for few ranks.
template <class Body>
void for_each_shape(Body body) {
  for (const Algorithm* algorithm : all_algorithms()) {
    for (Rank size = 1; size <= 6; ++size) {
      for (int skip = 0; skip < size; ++skip) {
        Call call{.collective = algorithm->collective};
        call.options.algorithm = algorithm->name;
        test::skip_in(call)->steps = skip;
        if (!select_algorithm(call, size)) continue;
        for (Rank position = 0; position < size; ++position) {
          for (bool in_place : {false, true}) {
            body(*algorithm, GraphShape{.collective = algorithm->collective,
                                        .size = size,
                                        .position = position,
                                        .structure = {.in_place = in_place, .parameters = LeftOut{.rounds = skip}},
                                        .hosts = algorithm->by_hosts ? Hosts(size) : Hosts()});
          }
        }
      }
    }
  }
}

TEST(GraphPicture, ATableHasALineForEachStep) {
  for_each_shape([](const Algorithm& algorithm, const GraphShape& shape) {
    const std::string table = graph_table(algorithm, shape);
    std::smatch steps;
    ASSERT_TRUE(std::regex_search(table, steps, std::regex("(\\d+) steps?, longest chain (\\d+)"))) << table;
    EXPECT_EQ(count(table, "\n( +\\d+)? +\\d+  (send|receive|reduce|copy) "), std::stoul(steps[1])) << table;
    EXPECT_EQ(count(table, "\n +\\d+ +\\d+  (send|receive|reduce|copy) "), std::stoul(steps[2])) << table;
  });
}

TEST(GraphPicture, ADotFileHasEveryStepAndOnlyEdgesBetweenThem) {
  for_each_shape([](const Algorithm& algorithm, const GraphShape& shape) {
    const std::string dot = graph_dot(algorithm, shape);
    EXPECT_TRUE(dot.starts_with("digraph lacuna {\n") && dot.ends_with("}\n")) << dot;
    const std::size_t nodes = count(dot, "\n  \\d+ \\[label=\"[^\"]+\", style=filled, fillcolor=\\w+\\];");
    const std::regex edge("\n  (\\d+) -> (\\d+);");
    for (std::sregex_iterator match(dot.begin(), dot.end(), edge), none; match != none; ++match) {
      EXPECT_LT(std::stoul((*match)[1]), std::stoul((*match)[2])) << dot;
      EXPECT_LT(std::stoul((*match)[2]), nodes) << dot;
    }
    const std::string table = graph_table(algorithm, shape);
    EXPECT_NE(table.find("\n" + count_of(nodes, "step")), std::string::npos) << table << dot;
  });
}

TEST(Command, GraphDrawsEveryAlgorithm) {
  for (const Algorithm* algorithm : all_algorithms()) {
    for (const char* form : {"--in-place", "--dot"}) {
      const Outcome graph = lacuna({"graph", std::string(to_string(algorithm->collective)), "--algorithm",
                                    std::string(algorithm->name), "--ranks", "4", "--position", "3", form});
      EXPECT_EQ(graph.exit_code, 0) << graph.output;
      EXPECT_NE(graph.output.find(algorithm->name), std::string::npos) << graph.output;
      EXPECT_NE(graph.output.find("position 3 of 4 ranks"), std::string::npos) << graph.output;
    }
  }
}

TEST(Command, GraphDrawsWhatAMethodLeavesOfAnAlgorithm) {
  for (const MethodAlgorithm& one : skip_method.algorithms) {
    const auto drawn = [&](const std::vector<std::string>& more) {
      std::vector<std::string> words = {
          "graph", std::string(to_string(one.algorithm->collective)), "-a", std::string(one.name), "--hosts", "2,2"};
      words.insert(words.end(), more.begin(), more.end());
      const Outcome graph = lacuna(words);
      EXPECT_EQ(graph.exit_code, 0) << graph.output;
      return graph.output;
    };
    const std::string dense = drawn({}), lossy = drawn({"--method", "skip:steps=1,incomplete=1"});
    EXPECT_NE(lines_of(dense).at(1), lines_of(lossy).at(1)) << one.name << ": steps and longest chain";
    EXPECT_NE(dense.find(one.algorithm->name), std::string::npos) << dense;
  }
  const std::string fewer = lacuna({"graph", "allreduce", "-a", "ring", "--method", "skip:steps=2"}).output;
  EXPECT_EQ(count(fewer, "\n8 steps, longest chain 2\n"), 1u) << fewer;
  EXPECT_EQ(count(fewer, "final, of 2 ranks"), 1u) << fewer;
}

/// Returns all lines but the title.
std::string steps_of(const Outcome& graph) {
  EXPECT_EQ(graph.exit_code, 0) << graph.output;
  return graph.output.substr(graph.output.find('\n'));
}

TEST(Command, GraphDrawsTheFormThatParametersAskFor) {
  const std::vector<std::string> ring = {"graph", "allreduce", "-a", "ring"};
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return lacuna(words);
  };
  EXPECT_EQ(steps_of(with(ring, {"--set", "rounds=2", "--set", "gather_rounds=1"})),
            steps_of(with(ring, {"--method", "skip:steps=2,gather_steps=1,incomplete=1"})));
  EXPECT_EQ(steps_of(with(ring, {"--set", "rounds=2", "--set", "rounds=0"})), steps_of(lacuna(ring)));
  EXPECT_EQ(count(with(ring, {"--set", "rounds=2"}).output, "of 4 ranks, rounds=2\n"), 1u);
  const std::vector<std::string> ok_topk = {"graph", "allreduce", "--method", "ok_topk"};
  const std::string gathers = steps_of(with(ok_topk, {"--set", "stage=gather"}));
  const std::string balances = steps_of(with(ok_topk, {"--set", "stage=balance"}));
  EXPECT_EQ(count(gathers, "kernel   select globally"), 1u) << gathers;
  EXPECT_EQ(count(gathers, "kernel   join shares"), 0u) << gathers;
  EXPECT_EQ(count(balances, "kernel   select globally"), 1u) << balances;
  EXPECT_EQ(count(balances, "kernel   join shares"), 1u) << balances;
}

TEST(Command, GraphRefusesMoreRoundsThanAProgramHas) {
  for (const MethodAlgorithm& one : skip_method.algorithms) {
    for (const char* rounds : {"4", "100", "2147483647"}) {
      const Outcome graph = lacuna({"graph", std::string(to_string(one.algorithm->collective)), "-a",
                                    std::string(one.algorithm->name), "--set", fmt::format("rounds={}", rounds)});
      EXPECT_EQ(graph.exit_code, 1) << one.name;
      EXPECT_EQ(count(graph.output, "to leave out, must be 0 .. "), 1u) << one.name << ": " << graph.output;
    }
  }
}

TEST(Command, GraphRefusesOrDrawsWhateverParametersAProgramIsGiven) {
  for (const Algorithm* algorithm : all_algorithms()) {
    if (!algorithm->parameters) continue;
    algorithm->parameters->each([&](const Parameter& one) {
      std::vector<std::string> values(one.option.choices.begin(), one.option.choices.end());
      if (values.empty()) values = {fmt::format("{}", one.option.least), fmt::format("{}", one.option.most)};
      for (const std::string& value : values) {
        const Outcome graph =
            lacuna({"graph", std::string(to_string(algorithm->collective)), "-a", std::string(algorithm->name), "--set",
                    fmt::format("{}={}", one.option.name, value)});
        EXPECT_TRUE(graph.exit_code == 0 || graph.exit_code == 1) << algorithm->name << ": " << graph.output;
      }
    });
  }
}

TEST(Command, GraphDrawsAlgorithmsByHosts) {
  const std::string even = lacuna({"graph", "allreduce", "-a", "two_level", "--hosts", "2,2"}).output;
  EXPECT_NE(even.find("input[1 of 2] -> position 1"), std::string::npos) << even;
  EXPECT_NE(even.find("output[1 of 4] -> position 2"), std::string::npos) << even;
  const std::string uneven = lacuna({"graph", "allreduce", "-a", "two_level", "--hosts", "3,1"}).output;
  EXPECT_NE(uneven.find("output = input op position 1"), std::string::npos) << uneven;
}

TEST(Command, GraphDrawsEveryTopology) {
  for (const std::string& name : topology_names()) {
    const bool by_lists = name == "parents" || name == "children" || name == "neighbours";
    const std::string lists = name == "parents" ? "-1;0;1;2" : name == "children" ? "1;2;3;" : "1;0,2;1,3;2";
    for (const char* form : {"", "--dot"}) {
      std::vector<std::string> words = {"graph", "topology", name};
      if (by_lists) words.insert(words.end(), {"--lists", lists});
      if (*form) words.push_back(form);
      const Outcome picture = lacuna(words);
      EXPECT_EQ(picture.exit_code, 0) << name << picture.output;
      const std::size_t trees = name == "double_binary_tree" ? 2 : 1;
      if (*form) {
        EXPECT_EQ(count(picture.output, "\n  \\d \\[label="), 4 * trees) << picture.output;
        EXPECT_EQ(count(picture.output, "(^|\n)(di)?graph lacuna \\{\n"), trees) << picture.output;
      } else {
        EXPECT_NE(picture.output.find(name + " of 4 positions\n"), std::string::npos) << picture.output;
        EXPECT_EQ(count(picture.output, "\nposition .*neighbours\n"), trees) << picture.output;
      }
    }
  }
}

TEST(TopologyPicture, ShowsGridsInPlaceAndTreesBelowTheirRoots) {
  const std::string torus = topology_table(*Topology::torus(2, 3));
  EXPECT_TRUE(torus.starts_with("   0   1   2\n   3   4   5\n\n")) << torus;
  EXPECT_NE(torus.find("\n       4  1, 1         1, 3, 5\n"), std::string::npos) << torus;
  const std::string tree = topology_table(*Topology::from_parents({1, -1, 1, 0}));
  EXPECT_TRUE(tree.starts_with("1\n   0\n      3\n   2\n\n")) << tree;
  EXPECT_NE(topology_dot(*Topology::from_parents({1, -1, 1, 0})).find("  1 -> 0;\n  1 -> 2;\n}"), std::string::npos);
  EXPECT_NE(topology_dot(Topology::ring(3)).find("  0 -- 2;\n  0 -- 1;\n  1 -- 2;\n}"), std::string::npos);
}

}  // namespace
}  // namespace lacuna::cli
