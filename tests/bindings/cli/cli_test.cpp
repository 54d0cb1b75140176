#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "runtime/config/config.hpp"
#include "runtime/values/processors.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::cli {
namespace {

using test::Environment;

TEST(Command, ListNamesEveryAlgorithmOnALineOfItsOwn) {
  const Outcome list = lacuna({"list"});
  EXPECT_EQ(list.exit_code, 0);
  std::size_t lines = all_algorithms().size() + 1 + 2 + all_methods().size() + 2;
  for (const Method* method : all_methods()) lines += method->algorithms.size();
  EXPECT_EQ(lines_of(list.output).size(), lines);
  for (const Algorithm* algorithm : all_algorithms()) {
    const std::string line = fmt::format("\n{} +{} +{}", to_string(algorithm->collective), algorithm->name,
                                         algorithm->on_board ? "one" : "any");
    EXPECT_EQ(count(list.output, line + " +\\S"), 1u) << line;
  }
  for (const Method* method : all_methods()) {
    EXPECT_EQ(count(list.output, fmt::format("\n{} +{}\n", method->name, method->summary)), 1u) << list.output;
    for (const MethodAlgorithm& one : method->algorithms) {
      const std::string line =
          fmt::format("\n{} +{} +{} +\\S", method->name, to_string(one.algorithm->collective), one.name);
      EXPECT_EQ(count(list.output, line), 1u) << line;
    }
  }
}

TEST(Command, ListOfAMethodHasALineForEachOptionAndEachAlgorithmThatServes) {
  for (const Method* method : all_methods()) {
    const Outcome list = lacuna({"list", std::string(method->name)});
    EXPECT_EQ(list.exit_code, 0);
    EXPECT_TRUE(list.output.starts_with(fmt::format("{}: {}\n", method->name, method->summary))) << list.output;
    const std::vector<std::string> lines = lines_of(list.output);
    const std::size_t measures = method->measures.empty() ? 0 : 2 + method->measures.size();
    EXPECT_EQ(lines.size(),
              2 + 1 + method->options.size() + measures + 2 + method->algorithms.size() + 2 + method->examples.size());
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

TEST(Command, JsonBeginsWithWhereItIsFrom) {
  const test::Environment given = {{"LACUNA_CHUNK", "64K"}, {"LACUNA_KEY", "do not tell"}, {"UCX_TLS", "self"}};
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"list", "--json"}, {"list", "skip", "-J"}, {"info", "--json"}, {"explain", "allreduce", "--json"}}) {
    const Outcome told = lacuna(arguments, given);
    EXPECT_EQ(told.exit_code, 0) << told.output;
    const auto json = nlohmann::json::parse(told.output, nullptr, false);
    ASSERT_TRUE(json.is_object()) << told.output;
    EXPECT_EQ(count(json.at("date_utc"), "^20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$"), 1u) << json.at("date_utc");
    EXPECT_EQ(json.at("versions").at("lacuna"), version());
    EXPECT_EQ(json.at("environment").at("LACUNA_CHUNK"), "64K");
    EXPECT_EQ(json.at("environment").at("UCX_TLS"), "self");
    EXPECT_FALSE(json.at("environment").contains("UCX_SELF_SEG_SIZE")) << "the user did not set it";
    EXPECT_EQ(json.at("command_line").size(), arguments.size() + 1);
    EXPECT_EQ(json.at("command_line").at(1), arguments.front());
    EXPECT_FALSE(json.at("machine").at("host").get<std::string>().empty());
    EXPECT_EQ(told.output.find("do not tell"), std::string::npos) << "the key is never printed";
  }
}

TEST(Command, JsonOfTheListHasEveryAlgorithmAndMethod) {
  const auto json = nlohmann::json::parse(lacuna({"list", "--json"}).output);
  ASSERT_EQ(json.at("algorithms").size(), all_algorithms().size());
  for (std::size_t i = 0; i < all_algorithms().size(); ++i) {
    EXPECT_EQ(json.at("algorithms").at(i).at("hosts"), all_algorithms()[i]->on_board ? "one" : "any");
  }
  ASSERT_EQ(json.at("methods").size(), all_methods().size());
  for (std::size_t i = 0; i < all_methods().size(); ++i) {
    const Method& method = *all_methods()[i];
    const auto& told = json.at("methods").at(i);
    EXPECT_EQ(told.at("name"), method.name);
    EXPECT_EQ(told.at("options").size(), method.options.size());
    EXPECT_EQ(told.at("measures").size(), method.measures.size());
    EXPECT_EQ(told.at("algorithms").size(), method.algorithms.size());
    EXPECT_EQ(nlohmann::json::parse(lacuna({"list", std::string(method.name), "--json"}).output).at("methods").at(0),
              told);
  }
}

TEST(Command, JsonOfInfoHasEveryVariable) {
  const auto json = nlohmann::json::parse(lacuna({"info", "--json"}, {{"LACUNA_CHUNK", "64K"}}).output);
  ASSERT_EQ(json.at("variables").size(), runtime::variables(runtime::Config()).size());
  for (const auto& variable : json.at("variables")) {
    const bool set = variable.at("name") == "LACUNA_CHUNK";
    EXPECT_EQ(variable.at("from"), set ? "environment" : "default") << variable;
    EXPECT_EQ(variable.at("value") == "64K", set) << variable;
  }
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
  EXPECT_EQ(count(info.output, "^lacuna: +" + std::string(version()) + "\n"), 1u) << info.output;
  EXPECT_EQ(count(info.output, "\nUCX: +\\d+\\.\\d+\\.\\d+\n"), 1u) << info.output;
  EXPECT_EQ(count(info.output, "\ntransports: +UCX: .*self/memory"), 1u) << info.output;
  EXPECT_EQ(count(info.output, "\nlistens: +rank 0 at 127.0.0.1, "), 1u) << info.output;
  EXPECT_EQ(count(info.output, "\nmapped memory: +"), 1u) << info.output;
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

TEST(Command, RanksThatShareAProcessorTellEachOtherAndChooseAlike) {
  const int processors = usable_processors();
  if (processors > 16) GTEST_SKIP() << "it would take " << processors + 1 << " processes to share a processor";
  const std::string shared = std::to_string(std::max(processors + 1, 5));
  std::vector<std::pair<std::string, std::string>> cases = {{shared, " star "}, {"4", " recursive_doubling "}};
  if (processors >= 5) cases.emplace_back("5", " recursive_doubling ");
  for (const auto& [ranks, algorithm] : cases) {
    const Outcome measured =
        lacuna({"launch", "-n", ranks, "--", LACUNA_COMMAND, "perf", "allreduce", "-b", "8K", "-e", "8K", "-n", "3"});
    EXPECT_EQ(measured.exit_code, 0) << measured.output;
    EXPECT_EQ(count(measured.output, algorithm), 1u) << ranks << " ranks, " << processors << " processors\n"
                                                     << measured.output;
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

TEST(Command, InfoNamesAVariableWhoseValueIsNone) {
  const Outcome info = lacuna({"info"}, {{"LACUNA_WINDOW", "-3"}});
  EXPECT_NE(info.exit_code, 0);
  EXPECT_NE(info.output.find("LACUNA_WINDOW"), std::string::npos) << info.output;
}

TEST(Command, HelpAndVersionAreNoErrors) {
  const std::string told = lacuna({"--version"}).output;
  const std::regex lines("lacuna " + std::string(version()) +
                         "\ncommit ([0-9a-f]{12}(-dirty)?|unknown)\ncompiler \\w+ [0-9.]+, \\w+\n"
                         "UCX [0-9]+\\.[0-9]+\\.[0-9]+\nKokkos [0-9]+\\.[0-9]+\\.[0-9]+\n");
  EXPECT_TRUE(std::regex_match(told, lines)) << told;
  for (const char* command : {"info", "list", "graph", "perf", "launch", "run", "replay"}) {
    const Outcome help = lacuna({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << help.output;
    EXPECT_NE(help.output.find(fmt::format("lacuna {}", command)), std::string::npos) << help.output;
  }
}

}  // namespace
}  // namespace lacuna::cli
