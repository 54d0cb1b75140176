#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/graph/picture.hpp"
#include "bindings/cli/graph/topology_picture.hpp"
#include "bindings/cli/launch/binding.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "runtime/config/config.hpp"
#include "runtime/values/processors.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::cli {
namespace {

using test::Environment;
using test::Executed;

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

TEST(Command, PerfSaysWhenRanksShareAProcessorThatNeedNot) {
  const BoundTo bound({processors_of_thread().front()});
  const Outcome measured =
      lacuna({"launch", "-n", "2", "--", LACUNA_COMMAND, "perf", "allreduce", "-b", "8", "-e", "8", "-n", "3"});
  EXPECT_EQ(measured.exit_code, 0) << measured.output;
  const bool could_be_apart = usable_processors() >= 2;
  EXPECT_EQ(count(measured.output, "In 2 of 2 measurements ranks shared a processor"), could_be_apart ? 1u : 0u)
      << measured.output;
}

/// Writes a result of `lacuna perf -J` with one row of these times.
std::string result_file(const std::string& name, double out_of_place, double in_place, int wrong = 0, int size = 8,
                        const std::string& method = "") {
  const std::string path = testing::TempDir() + name + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << fmt::format(
      R"({{"collective": "allreduce", "ranks": 2, "config": {{"iterations": {}, "method": "{}"}}, "results": [{{"size_bytes": {}, "dtype": "f32", "reduction": "sum",
          "algorithm": "ring", "out_of_place": {{"time_us": {}, "wrong_elements": {}}}, "in_place": {{"time_us": {}}}}}]}})",
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
  EXPECT_EQ(count(grown.output, "in_place +20 us +25 us +1.25  slower\n"), 1u) << grown.output;
  EXPECT_EQ(count(grown.output, "1 of 2 are worse; the tolerance is 10 %"), 1u) << grown.output;
  EXPECT_EQ(lacuna({"compare", before, slower, "--tolerance", "0.3"}).exit_code, 0);
  const auto json = nlohmann::json::parse(lacuna({"compare", before, slower, "--json"}).output);
  EXPECT_EQ(json.at("rows").size(), 2u);
  EXPECT_EQ(json.at("rows").at(0).at("verdict"), "slower") << json;
  EXPECT_EQ(json.at("rows").at(0).at("ratio"), 1.25);
  EXPECT_EQ(json.at("rows").at(1).at("verdict"), "ok");
  EXPECT_EQ(json.at("worse"), 1);
  EXPECT_EQ(lacuna({"compare", before, slower, "-t", "25%"}).exit_code, 0);
  EXPECT_EQ(lacuna({"compare", before, slower, "-t", "24%"}).exit_code, 1);
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
          R"({}{{"size_bytes": {}, "dtype": "f32", "algorithm": "ring", "out_of_place": {{"time_us": 10}}}})",
          rows.empty() ? "" : ", ", size);
    }
    std::ofstream(path) << fmt::format(R"({{"collective": "allreduce", "ranks": 2, "results": [{}]}})", rows);
    return path;
  };
  const std::string before = write("all", {8, 16, 32}), after = write("fewer", {8, 32});
  const Outcome missing = lacuna({"compare", before, after});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(count(missing.output, "\n +16 .* 10 us +- +-  missing\n"), 1u) << missing.output;
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
  EXPECT_EQ(count(measured.output, "payload/rank +least +p50 +p95 +p99\n"), 1u) << measured.output;
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

TEST(CommandLaunch, RankZeroHasTheStandardInputOfTheLauncher) {
  const std::string command = fmt::format("printf 'a\\nb\\n' | '{}' launch -np 3 -- cat", LACUNA_COMMAND);
  Executed piped({"/bin/sh", "-c", command}, {});
  EXPECT_EQ(piped.wait(), 0);
  EXPECT_EQ(piped.output(), "[0] a\n[0] b\n");
  const std::string rest = fmt::format("printf 'a\\nb\\n' | ('{}' launch -n 2 -- true; cat)", LACUNA_COMMAND);
  Executed unread({"/bin/sh", "-c", rest}, {});
  EXPECT_EQ(unread.wait(), 0);
  EXPECT_EQ(unread.output(), "a\nb\n") << "the launcher takes nothing that rank 0 does not read";
  Executed closed({"/bin/sh", "-c", fmt::format("'{}' launch -n 2 -- cat <&-", LACUNA_COMMAND)}, {});
  EXPECT_EQ(closed.wait(), 0) << closed.output();
}

TEST(CommandLaunch, RankZeroHasWhatIsTypedAtTheTerminal) {
  const std::string script = "read line; echo $LACUNA_RANK has \"$line\"; exec cat";
  int terminal = -1;
  const pid_t launcher = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    ::execl(LACUNA_COMMAND, LACUNA_COMMAND, "launch", "-n", "2", "--", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  const std::string typed = "hello\nagain\n\x04";  // the last one ends the input
  EXPECT_EQ(::write(terminal, typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
  std::string shown;
  char chunk[256];
  for (ssize_t bytes = 0; (bytes = ::read(terminal, chunk, sizeof(chunk))) > 0;) {
    shown.append(chunk, static_cast<std::size_t>(bytes));
  }
  ::close(terminal);
  int status = -1;
  EXPECT_EQ(::waitpid(launcher, &status, 0), launcher);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(count(shown, "\\[0\\] 0 has hello\r\n"), 1u) << shown;
  EXPECT_EQ(count(shown, "\\[0\\] again\r\n"), 1u) << shown;
  EXPECT_EQ(count(shown, "\\[1\\] 1 has \r\n"), 1u) << shown;
}

TEST(CommandLaunch, ProgressIsThatOfTheOptionWhateverTheEnvironmentSays) {
  const auto told = [](std::vector<std::string> options) {
    options.insert(options.begin(), "launch");
    options.insert(options.end(), {"-np", "1", "--raw", "--", "sh", "-c", "echo $LACUNA_PROGRESS"});
    return lacuna(options, {{"LACUNA_PROGRESS", "caller"}}).output;
  };
  EXPECT_EQ(told({"--progress", "thread"}), "thread\n");
  EXPECT_EQ(told({"--progress=thread"}), "thread\n");
  EXPECT_EQ(told({}), "caller\n");
  EXPECT_EQ(count(told({"--progress", "threads"}), "did you mean thread\\?"), 1u);
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
