#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>

#include "algorithms/phases/left_out.hpp"
#include "algorithms/registry.hpp"
#include "bindings/cli/graph_picture.hpp"
#include "bindings/cli/topology_picture.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "runtime/config/config.hpp"
#include "tests/processes/executed.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::cli {
namespace {

using test::Environment;
using test::Executed;

struct Outcome {
  int exit_code;
  std::string output;
};

Outcome lacuna(std::vector<std::string> arguments, const Environment& environment = {}) {
  arguments.insert(arguments.begin(), LACUNA_COMMAND);
  Executed command(arguments, environment);
  const int exit_code = command.wait();
  return {exit_code, command.output()};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return static_cast<std::size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {}));
}

TEST(Command, ListNamesEveryAlgorithmOnALineOfItsOwn) {
  const Outcome list = lacuna({"list"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(lines_of(list.output).size(), all_algorithms().size() + 1 + 2 + all_methods().size());
  for (const Algorithm* algorithm : all_algorithms()) {
    const std::string line = fmt::format("\n{} +{}", to_string(algorithm->collective), algorithm->name);
    EXPECT_EQ(count(list.output, line + " +\\S"), 1u) << line;
  }
  for (const Method* method : all_methods()) {
    EXPECT_EQ(count(list.output, fmt::format("\n{} +{}\n", method->name, method->summary)), 1u) << list.output;
  }
}

TEST(Command, ListOfAMethodHasALineForEachOptionAndEachAlgorithmThatServes) {
  for (const Method* method : all_methods()) {
    const Outcome list = lacuna({"list", std::string(method->name)});
    EXPECT_EQ(list.exit_code, 0);
    EXPECT_TRUE(list.output.starts_with(fmt::format("{}: {}\n", method->name, method->summary))) << list.output;
    const std::vector<std::string> lines = lines_of(list.output);
    EXPECT_EQ(lines.size(), 2 + 1 + method->options.size() + 2 + method->algorithms.size());
    const std::shared_ptr<void> defaults = method->make(nullptr);
    for (const Option& option : method->options) {
      const std::string name = std::string(option.name) + " ";
      const auto line =
          std::find_if(lines.begin(), lines.end(), [&](const auto& one) { return one.starts_with(name); });
      ASSERT_NE(line, lines.end()) << option.name;
      for (const std::string& cell : {" " + value_text(option.get(defaults.get())) + " ",
                                      " " + allowed_text(option) + " ", std::string(option.help)}) {
        EXPECT_NE(line->find(cell), std::string::npos) << *line << ": " << cell;
      }
    }
    for (const MethodAlgorithm& one : method->algorithms) {
      const std::string line =
          fmt::format("\n{} +{} +{} +\\S", to_string(one.algorithm->collective), one.algorithm->name, one.name);
      EXPECT_EQ(count(list.output, line), 1u) << line;
    }
  }
}

TEST(Command, ListOfSkipSaysTheRangesOfItsOptions) {
  const std::string list = lacuna({"list", "skip"}).output;
  EXPECT_EQ(count(list, "\nsteps +0 +0 \\.\\. 2147483647 +S: "), 1u) << list;
  EXPECT_EQ(count(list, "\nratio +0 +0 \\.\\. 1 +\\S"), 1u) << list;
  EXPECT_EQ(count(list, "\nmode +static +static, random or shuffled +\\S"), 1u) << list;
  EXPECT_EQ(count(list, "\nfeedback +0 +0 or 1 +\\S"), 1u) << list;
  EXPECT_EQ(count(list, "\nallreduce +two_level +skip_two_level +\\S"), 1u) << list;
}

TEST(Command, AMethodIsShownAsItWasAskedForWithoutWhatIsUsual) {
  const auto shown = [](const std::string& method) {
    return lines_of(lacuna({"explain", "allreduce", "-p", "4", "--method", method}).output).at(3);
  };
  EXPECT_EQ(shown("skip:mode=random,steps=2"), "  skip:steps=2,mode=random");
  EXPECT_EQ(shown("skip:steps=2,mode=static,factor=3"), "  skip:steps=2");
  EXPECT_EQ(shown("skip:scale=factor,factor=-0.5,ratio=0.25"), "  skip:ratio=0.25,scale=factor,factor=-0.5");
  EXPECT_EQ(shown("skip:schedule=2:1/7:3,feedback=true"), "  skip:feedback=1,schedule=2:1/7:3");
}

TEST(Command, InfoShowsVersionsAndEveryVariableWithItsValue) {
  const Outcome info = lacuna({"info"}, {{"LACUNA_CHUNK", "64K"}, {"LACUNA_KEY", "do not tell"}});
  EXPECT_EQ(info.exit_code, 0);
  EXPECT_NE(info.output.find("lacuna " + std::string(version())), std::string::npos) << info.output;
  EXPECT_EQ(count(info.output, "UCX \\d+\\.\\d+\\.\\d+"), 1u) << info.output;
  for (const runtime::Variable& variable : runtime::variables(runtime::Config())) {
    EXPECT_EQ(count(info.output, fmt::format("\n{} ", variable.name)), 1u) << variable.name;
  }
  EXPECT_EQ(count(info.output, "LACUNA_CHUNK +64 ?K.*from the environment"), 1u) << info.output;
  EXPECT_EQ(info.output.find("do not tell"), std::string::npos) << "the key is never printed";
}

TEST(Command, InfoAsMarkdownIsATableOfEveryVariable) {
  const Outcome info = lacuna({"info", "--markdown"});
  EXPECT_EQ(info.exit_code, 0);
  for (const std::string& line : lines_of(info.output)) {
    EXPECT_TRUE(line.starts_with("|") && line.ends_with("|")) << line;
  }
  EXPECT_EQ(lines_of(info.output).size(), runtime::variables(runtime::Config()).size() + 2);
}

TEST(Command, TheManualHasTheTableThatInfoPrints) {
  std::ifstream file(LACUNA_SOURCE "/docs/configuration.md");
  std::stringstream manual;
  manual << file.rdbuf();
  const Outcome info = lacuna({"info", "--markdown"});
  for (const std::string& line : lines_of(info.output)) {
    EXPECT_NE(manual.str().find(line + "\n"), std::string::npos) << "docs/configuration.md lacks: " << line;
  }
}

TEST(Command, ExplainMarksTheAlgorithmThatIsTakenAndSaysWhy) {
  const Outcome explained = lacuna({"explain", "allreduce", "-b", "64K", "-p", "8"});
  EXPECT_EQ(explained.exit_code, 0);
  EXPECT_EQ(count(explained.output, "64 KiB on 8 ranks of 8 hosts: halving_doubling\n +up to 256 KiB on 2\\^k ranks"),
            1u);
  EXPECT_EQ(count(explained.output, "\n> halving_doubling +6 +112 KiB +112 KiB +896 KiB +1037.5 us"), 1u)
      << explained.output;
  EXPECT_EQ(count(explained.output, "\n  ring +14 "), 1u) << explained.output;
  const Outcome asked = lacuna({"explain", "allreduce", "-a", "ring"});
  EXPECT_EQ(count(asked.output, "4 ranks of 4 hosts: ring\n +it was asked for"), 1u) << asked.output;
  const std::string two = lacuna({"explain", "allreduce", "--hosts", "4,4"}).output;
  EXPECT_EQ(count(two, "8 ranks of 2 hosts: two_level\n +any size on several hosts with as many ranks each"), 1u)
      << two;
  EXPECT_EQ(count(two, "\n> two_level +8 +1.75 MiB +1 MiB +14 MiB +8548.6 us"), 1u) << two;
  for (Collective collective : all_collectives) {
    EXPECT_EQ(count(lacuna({"explain", std::string(to_string(collective)), "-p", "5"}).output, "\n> "), 1u);
  }
}

TEST(Command, AlgorithmsOfTheEnvironmentServeCallsThatNameNone) {
  const Environment tree = {{"LACUNA_ALGORITHMS", "allreduce=double_tree,barrier=dissemination"}};
  const Outcome measured = lacuna({"launch", "-n", "2", "--", LACUNA_COMMAND, "perf", "allreduce", "-e", "8"}, tree);
  EXPECT_EQ(measured.exit_code, 0);
  EXPECT_EQ(count(measured.output, " double_tree "), 1u) << measured.output;
  const Outcome named =
      lacuna({"launch", "-n", "2", "--", LACUNA_COMMAND, "perf", "allreduce", "-e", "8", "--algorithm", "ring"}, tree);
  EXPECT_EQ(count(named.output, " double_tree "), 0u) << named.output;
  const Outcome unknown = lacuna({"perf", "allreduce", "-e", "8"}, {{"LACUNA_ALGORITHMS", "allreduce=double"}});
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_EQ(count(unknown.output, "LACUNA_ALGORITHMS: no allreduce algorithm is called 'double'"), 1u);
}

/// A result of `lacuna perf -J` with one row of these times.
std::string result_file(const std::string& name, double out_of_place, double in_place, int wrong = 0, int size = 8,
                        const std::string& method = "") {
  const std::string path = testing::TempDir() + name + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << fmt::format(
      R"({{"collective": "allreduce", "ranks": 2, "config": {{"iterations": {}, "method": "{}"}}, "results": [{{"size": {}, "type": "f32", "redop": "sum",
          "algorithm": "ring", "out_of_place": {{"time": {}, "nwrong": {}}}, "in_place": {{"time": {}}}}}]}})",
      size, method, size, out_of_place, wrong, in_place);
  return path;
}

TEST(Command, CompareFailsWhenATimeGrewBeyondTheToleranceOrAResultIsWrong) {
  const std::string before = result_file("before", 10, 20), slower = result_file("slower", 10, 25);
  const std::string wrong = result_file("wrong", 10, 20, 3), other = result_file("other", 10, 20, 0, 16);
  EXPECT_EQ(lacuna({"compare", before, before}).exit_code, 0);
  EXPECT_EQ(lacuna({"compare", slower, before}).exit_code, 0);
  const Outcome grown = lacuna({"compare", before, slower});
  EXPECT_EQ(grown.exit_code, 1);
  EXPECT_EQ(count(grown.output, "in_place +20.00 +25.00 +1.25  slower\n"), 1u) << grown.output;
  EXPECT_EQ(count(grown.output, "1 of 2 are worse; the tolerance is 10 %"), 1u) << grown.output;
  EXPECT_EQ(lacuna({"compare", before, slower, "--tolerance", "0.3"}).exit_code, 0);
  EXPECT_EQ(lacuna({"compare", before, wrong}).exit_code, 1);
  EXPECT_EQ(lacuna({"compare", before, other}).exit_code, 2);
  const std::string skipping = result_file("skipping", 10, 20, 0, 8, "skip:steps=2");
  const Outcome differs = lacuna({"compare", before, skipping});
  EXPECT_EQ(differs.exit_code, 2);
  EXPECT_EQ(count(differs.output, "'method' is \"\" in one and \"skip:steps=2\" in the other"), 1u) << differs.output;
  std::ofstream(other) << "{}";
  const Outcome broken = lacuna({"compare", before, other});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_EQ(count(broken.output, "is no result of `lacuna perf -J`"), 1u) << broken.output;
  for (const std::string& path : {before, slower, wrong, other, skipping}) std::remove(path.c_str());
}

TEST(Command, CompareFailsWhenRowsAreMissingUnlessTheyMay) {
  const auto write = [](const std::string& name, const std::vector<int>& sizes) {
    const std::string path = testing::TempDir() + name + std::to_string(::getpid()) + ".json";
    std::string rows;
    for (int size : sizes) {
      rows += fmt::format(
          R"({}{{"size": {}, "type": "f32", "redop": "sum", "algorithm": "ring", "out_of_place": {{"time": 10}}}})",
          rows.empty() ? "" : ", ", size);
    }
    std::ofstream(path) << fmt::format(R"({{"collective": "allreduce", "ranks": 2, "results": [{}]}})", rows);
    return path;
  };
  const std::string before = write("all", {8, 16, 32}), after = write("fewer", {8, 32});
  const Outcome missing = lacuna({"compare", before, after});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(count(missing.output, "\n +16 .* 10.00 +- +-  missing\n"), 1u) << missing.output;
  EXPECT_EQ(count(missing.output, "# 1 of 3 are missing in .*; --allow-missing passes over them\n"), 1u)
      << missing.output;
  const Outcome allowed = lacuna({"compare", before, after, "--allow-missing"});
  EXPECT_EQ(allowed.exit_code, 0);
  EXPECT_EQ(count(allowed.output, "# 1 of 3 are missing in .*[^s]\n"), 1u) << allowed.output;
  EXPECT_EQ(lacuna({"compare", after, before}).exit_code, 0) << "more rows are no loss";
  for (const std::string& path : {before, after}) std::remove(path.c_str());
}

TEST(Command, PerfShowsPercentilesAndMeasuresGroups) {
  const std::string path = testing::TempDir() + "percentiles" + std::to_string(::getpid()) + ".json";
  const Outcome measured = lacuna({"launch", "-n", "4", "--", LACUNA_COMMAND, "perf", "allgather", "-e", "64", "-f",
                                   "8", "--groups", "2", "--percentiles", "-J", path});
  EXPECT_EQ(measured.exit_code, 0) << measured.output;
  EXPECT_EQ(count(measured.output, "allgather on 2 ranks"), 1u) << measured.output;
  EXPECT_EQ(count(measured.output, "payload/rank +p50 +p95 +p99\n"), 1u) << measured.output;
  std::ifstream file(path);
  std::stringstream json;
  json << file.rdbuf();
  EXPECT_EQ(count(json.str(), "\"p95\": "), 4u) << json.str();
  std::remove(path.c_str());
  EXPECT_NE(lacuna({"perf", "barrier", "--groups", "2"}).exit_code, 0);
}

TEST(Command, InfoNamesAVariableWhoseValueIsNone) {
  const Outcome info = lacuna({"info"}, {{"LACUNA_WINDOW", "-3"}});
  EXPECT_NE(info.exit_code, 0);
  EXPECT_NE(info.output.find("LACUNA_WINDOW"), std::string::npos) << info.output;
}

static_assert(rounds_left_out == 0);

/// Every shape that `lacuna graph` draws for few ranks.
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
                                        .structure = {.in_place = in_place, .numbers = {skip}},
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
    ASSERT_TRUE(std::regex_search(table, steps, std::regex("(\\d+) steps, longest chain (\\d+)"))) << table;
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
    EXPECT_NE(table.find(fmt::format("\n{} steps", nodes)), std::string::npos) << table << dot;
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

struct Mistake {
  std::vector<std::string> arguments;
  std::string text;  // a part of what is said of it
};

TEST(Command, MistakesAreErrorsThatSayWhatIsAllowed) {
  const std::vector<Mistake> mistakes = {
      {{}, "subcommand is required"},
      {{"nonsense"},
       "no command is called 'nonsense'; there are: info, list, graph, explain, perf, compare, launch, run, trace"},
      {{"list", "--nonsense"}, "--nonsense"},
      {{"graph"}, "collective is required"},
      {{"graph", "allreduce", "--ranks", "0"}, "1 to 65536"},
      {{"graph", "allreduce", "--ranks", "2", "--position", "2"}, "position is 2, must be 0 .. 1"},
      {{"graph", "allreduce", "--ranks", "2", "--position", "-1"}, "--position"},
      {{"graph", "barrier", "--algorithm", "ring"}, "there are: dissemination"},
      {{"list", "skp"}, "skip"},
      {{"graph", "allreduce", "-a", "skip_ring", "--ranks", "4", "--method", "skip:steps=4"},
       "skip.steps is 4, must be 0 .. 3"},
      {{"graph", "allreduce", "-a", "recursive_doubling", "--method", "skip:steps=1"},
       "allreduce recursive_doubling does not serve the method skip; there are: ring, halving_doubling"},
      {{"graph", "broadcast", "--method", "skip:steps=1"},
       "broadcast tree does not serve the method skip; no algorithm of that collective does"},
      {{"graph", "allreduce", "--method", "skip:mode=sometimes"},
       "mode is sometimes, must be static, random or shuffled"},
      {{"graph", "allreduce", "--method", "skip:mode=radnom"}, "did you mean random?"},
      {{"graph", "allreduce", "--method", "skip:stesp=1"}, "skip has no option 'stesp' (did you mean steps?); it has "},
      {{"graph", "allreduce", "--method", "skip:zzzzzzzz=1"}, "skip has no option 'zzzzzzzz'; it has steps, ratio, "},
      {{"graph", "allreduce", "--method", "skp:steps=1"},
       "no method is called 'skp' (did you mean skip?); there are: skip"},
      {{"graph", "allreduce", "--method", ""}, "--method"},
      {{"graph", "allreduce", "--method", "skip:steps"}, "skip: 'steps' is no option=value"},
      {{"graph", "allreduce", "--method", "skip:steps=-1"}, "steps is -1, must be 0 .. 2147483647"},
      {{"graph", "allreduce", "--method", "skip:steps=two"}, "steps is two, must be 0 .. 2147483647"},
      {{"graph", "allreduce", "--method", "skip:steps="}, "steps is empty, must be 0 .. 2147483647"},
      {{"graph", "allreduce", "--method", "skip:steps=1,ratio=0.5"}, "one of them must be 0"},
      {{"graph", "allreduce", "--method", "skip:feedback=2"}, "feedback is 2, must be 0 or 1"},
      {{"graph", "allreduce", "--method", "skip:ratio=nan"}, "ratio is nan, must be 0 .. 1"},
      {{"graph", "allreduce", "--method", "skip:schedule=1"}, "schedule is 1, must be RUN:VALUE/RUN:VALUE/..."},
      {{"explain", "allreduce", "-p", "8", "--method", "skip:steps=9"}, "skip.steps is 9, must be 0 .. 7 on 8 ranks"},
      {{"graph", "allreduce", "--ranks", "2", "--hosts", "1,1"}, "--ranks"},
      {{"graph", "allreduce", "--hosts", "2,0"}, "1 to 1024"},
      {{"graph", "topology"}, "name is required"},
      {{"graph", "topology", "circle"}, "double_binary_tree"},
      {{"graph", "topology", "hypercube", "--ranks", "6"}, "a hypercube of 6 positions: must be a power of two"},
      {{"graph", "topology", "torus", "--sides", "0,3"}, "a torus of 0 x 3"},
      {{"graph", "topology", "ring", "--lists", "0,2"}, "place 1 of a ring has position 2, must be 0 .. 1"},
      {{"graph", "topology", "parents", "--lists", "a"}, "must be numbers"},
      {{"graph", "topology", "parents"}, "parents: --lists is needed"},
      {{"graph", "topology", "hypercube", "--lists", "1;0"}, "hypercube: it takes no --lists"},
      {{"graph", "topology", "ring", "--sides", "2,3"}, "ring: only a torus has --sides"},
      {{"graph", "topology", "torus", "--sides", "3,5", "--ranks", "12"}, "--ranks excludes --sides"},
      {{"explain", "allreduce", "--hosts", "400,400"}, "800 ranks, must be at most 512"},
      {{"perf"}, "collective is required"},
      {{"perf", "allswap"}, "{allgather,allgatherv,allreduce,alltoall,alltoallv,barrier,broadcast,"},
      {{"perf", "allreduce", "--nonsense"}, "--nonsense"},
      {{"perf", "allreduce", "-d", "f8"}, "{bf16,f16,f32,f64,i32,i64,u8}"},
      {{"perf", "allreduce", "-o", "mean"}, "{avg,max,min,prod,sum}"},
      {{"perf", "allreduce", "-b", "-5"}, "--minbytes"},
      {{"perf", "allreduce", "-e", "2T"}, "--maxbytes"},
      {{"perf", "allreduce", "-b", "1x"}, "--minbytes"},
      {{"perf", "allreduce", "-b", "1M", "-e", "1K"}, "-b must be at most -e"},
      {{"perf", "allreduce", "-b", "1T", "-e", "1T"}, "do not fit into memory"},
      {{"perf", "allreduce", "-f", "1"}, "--stepfactor"},
      {{"perf", "allreduce", "-n", "0"}, "--iters"},
      {{"perf", "allreduce", "-w", "-1"}, "--warmup_iters"},
      {{"perf", "allreduce", "--algorithm", "ring,rings"}, "there are: ring, recursive_doubling"},
      {{"perf", "allreduce", "--algorithm", "skip_ring", "--method", "skip:steps=1"},
       "skip.steps is 1, must be 0 .. 0"},
      {{"perf", "allreduce", "-e", "8", "-J", "/tmp"}, "/tmp could not be written: it is no regular file"},
      {{"perf", "allreduce", "--method", "skip:steps=1"}, "skip.steps is 1, must be 0 .. 0 on 1 ranks"},
      {{"perf", "allreduce", "--method", "skip:steps=1", "--algorithm", "recursive_doubling"},
       "none of the algorithms serves skip"},
      {{"perf", "broadcast", "--method", "skip:steps=1"}, "none of the algorithms serves skip"},
      {{"perf", "sendrecv", "--method", "skip:steps=1"}, "neither --algorithm nor --method"},
      {{"perf", "allreduce", "--method", "skip:ratio=1.5"}, "ratio is 1.5, must be 0 .. 1"},
      {{"perf", "allreduce", "-o", "avg", "-d", "i32"}, "avg of i32"},
      {{"perf", "broadcast", "-r", "1"}, "root is 1, must be 0 .. 0"},
      {{"perf", "allreduce", "-e", "8", "-J", "/nonexistent/x.json"}, "/nonexistent/x.json could not be written"},
      {{"trace"}, "folder is required"},
      {{"trace", "/nonexistent"}, "/nonexistent: No such file or directory"},
      {{"launch"}, "--ranks is required"},
      {{"launch", "-n", "2"}, "0 words"},
      {{"launch", "-n"}, "--ranks: 1 required"},
      {{"launch", "-n", "0", "true"}, "1 to 1024"},
      {{"launch", "-n", "two", "true"}, "two"},
      {{"launch", "-n", "2", "--nonsense", "true"}, "--nonsense"},
      {{"launch", "-n", "2", "/nonexistent/program"}, "cannot execute '/nonexistent/program'"}};
  for (const Mistake& mistake : mistakes) {
    const Outcome outcome = lacuna(mistake.arguments);
    const std::string line = testing::PrintToString(mistake.arguments);
    EXPECT_GT(outcome.exit_code, 0) << line << outcome.output;
    EXPECT_LT(outcome.exit_code, 128) << line << outcome.output;
    EXPECT_NE(outcome.output.find(mistake.text), std::string::npos) << line << outcome.output;
  }
}

TEST(Command, HelpAndVersionAreNoErrors) {
  EXPECT_EQ(lacuna({"--version"}).output, std::string(version()) + "\n");
  for (const char* command : {"info", "list", "graph", "perf", "launch", "run"}) {
    const Outcome help = lacuna({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << help.output;
    EXPECT_NE(help.output.find(fmt::format("lacuna {}", command)), std::string::npos) << help.output;
  }
}

TEST(CommandLaunch, TheProgramsArgumentsAreItsOwn) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"-n", "1", "echo", "--raw", "-n", "5"}, "[0] --raw -n 5\n"},
      {{"-n", "1", "--", "echo", "--help", "--", "x"}, "[0] --help -- x\n"},
      {{"-n", "1", "echo", "--", "x", "--"}, "[0] -- x --\n"},
      {{"--ranks", "1", "printf", "%s\\n", "--version"}, "[0] --version\n"},
      {{"--ranks=1", "--raw", "echo", "a b", ""}, "a b \n"},
      {{"-n1", "--raw", "--", "echo", "-x"}, "-x\n"}};
  for (const auto& [arguments, expected] : cases) {
    std::vector<std::string> words = {"launch"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Outcome outcome = lacuna(words);
    EXPECT_EQ(outcome.exit_code, 0) << testing::PrintToString(arguments) << outcome.output;
    EXPECT_EQ(outcome.output, expected) << testing::PrintToString(arguments);
  }
}

TEST(CommandLaunch, RanksSeeTheirNumbersAndAKeyOfThisJob) {
  const Outcome outcome = lacuna({"launch", "-n", "2", "sh", "-c", "echo $LACUNA_RANK of $LACUNA_SIZE ${#LACUNA_KEY}"},
                                 {{"LACUNA_RANK", "7"}, {"LACUNA_KEY", "x"}});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.output.find("[0] 0 of 2 64\n"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("[1] 1 of 2 64\n"), std::string::npos) << outcome.output;
}

TEST(CommandLaunch, TheExitCodeOfTheFailedRankIsTheLaunchers) {
  const Outcome outcome = lacuna({"launch", "-n", "3", "--", "sh", "-c", "test $LACUNA_RANK != 1 || exit 42"});
  EXPECT_EQ(outcome.exit_code, 42);
  EXPECT_NE(outcome.output.find("rank 1 (process "), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace lacuna::cli
