#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "tests/bindings/cli/lacuna_command.hpp"

// What the command does where it can't write.
namespace lacuna::cli {
namespace {

const std::string full = "/dev/full";

/// Runs the command by the shell, with these redirections.
Outcome redirected(const std::string& arguments, const std::string& redirections) {
  test::Executed shell({"/bin/sh", "-c", fmt::format("exec '{}' {} {}", LACUNA_COMMAND, arguments, redirections)}, {});
  const int exit_code = shell.wait();
  return {exit_code, shell.output()};
}

/// Returns the names of all commands, as the help lists them.
std::vector<std::string> names_of_commands() {
  std::vector<std::string> names;
  bool listed = false;
  for (const std::string& line : lines_of(lacuna({"--help"}).output)) {
    if (listed && line.starts_with("  ")) names.push_back(line.substr(2, line.find(' ', 2) - 2));
    listed = listed || line.starts_with("Subcommands");
  }
  EXPECT_GT(names.size(), 10u);
  return names;
}

TEST(CommandOutput, HasOneWriter) {
  const std::regex others("fmt::print|std::(cout|cerr|f?printf|f?puts)|\\bstd(out|err)\\b");
  std::size_t writers = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(LACUNA_SOURCE "/bindings/cli")) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const bool writes = std::regex_search(text, others);
    EXPECT_TRUE(!writes || entry.path().filename() == "output.cpp") << entry.path();
    writers += writes ? 1 : 0;
  }
  EXPECT_EQ(writers, 1u);
}

TEST(CommandOutput, ThatCanNotBeWrittenIsAnErrorAndSaid) {
  std::vector<std::string> lines = {"--help",
                                    "--version",
                                    "info",
                                    "info --json",
                                    "info --markdown",
                                    "list",
                                    "list skip",
                                    "list --json",
                                    "graph allreduce -p 2",
                                    "graph allreduce -p 2 --dot",
                                    "explain allreduce",
                                    "explain allreduce --json",
                                    "perf allreduce -b 4 -e 4 -n 1 -w 0",
                                    "completion",
                                    "run --keys"};
  for (const std::string& name : names_of_commands()) lines.push_back(name + " --help");
  for (const std::string& line : lines) {
    for (const auto& [closed, why] :
         {std::pair(">" + full, "No space left on device"), {">&-", "Bad file descriptor"}}) {
      const Outcome outcome = redirected(line, closed);
      EXPECT_EQ(outcome.exit_code, 1) << line << closed << ": " << outcome.output;
      EXPECT_EQ(count(outcome.output, fmt::format("lacuna: standard output can't be written: {}\n", why)), 1u)
          << line << closed << ": " << outcome.output;
    }
    EXPECT_EQ(redirected(line, ">" + full + " 2>" + full).exit_code, 1) << line;
  }
}

TEST(CommandOutput, ErrorsThatCanNotBeWrittenAreErrorsStill) {
  for (const std::string line :
       {"", "nonsense", "list skp", "list skip topk", "launch -n 1", "launch -n 1 -- /none", "show /none",
        "trace /none", "run /none", "watch /none", "replay /none", "explain allreduce --tuned /none", "aggregate"}) {
    const int told = redirected(line, "").exit_code;
    EXPECT_NE(told, 0) << line;
    for (const char* closed : {"2>/dev/full", "2>&-"}) EXPECT_EQ(redirected(line, closed).exit_code, told) << line;
  }
}

TEST(CommandOutput, TheLauncherGoesOnWithoutItsOwnWords) {
  EXPECT_EQ(redirected("launch -n 2 -- sh -c 'exit $LACUNA_RANK'", "2>" + full).exit_code, 1);
  EXPECT_EQ(redirected("launch -n 2 -- sh -c 'kill -9 $$'", "2>" + full).exit_code, 137);
  const Outcome silent = redirected("launch -n 2 -- true", ">&- 2>&-");
  EXPECT_EQ(silent.exit_code, 0) << silent.output;
}

TEST(CommandOutput, LostLinesOfRanksAreAnError) {
  for (const std::string closed : {">/dev/full", ">&-"}) {
    const Outcome lost = redirected("launch -n 2 -- echo here", closed);
    EXPECT_EQ(lost.exit_code, 1) << closed << ": " << lost.output;
    EXPECT_EQ(count(lost.output, "lacuna launch: output of ranks is lost, because it can't be written: "), 1u)
        << closed << ": " << lost.output;
    EXPECT_EQ(redirected("launch -n 2 -- sh -c 'echo here; exit 3'", closed).exit_code, 3);
  }
}

}  // namespace
}  // namespace lacuna::cli
