#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "algorithms/registry/registry.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"

namespace lacuna::cli {
namespace {

using Words = std::vector<std::string>;

/// Asks the completion as bash does, and prints what it offers. $0 is the command, the rest the words of a line.
constexpr const char* script = R"bash(
eval "$("$0" completion)"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_lacuna lacuna "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
)bash";

/// What bash offers in place of the last word of a line.
Words offered(const Words& line) {
  Words command = {"bash", "-c", script, LACUNA_COMMAND};
  command.insert(command.end(), line.begin(), line.end());
  test::Executed bash(command, {});
  EXPECT_EQ(bash.wait(), 0) << bash.output();
  Words words;
  for (const std::string& word : lines_of(bash.output())) {
    if (!word.empty()) words.push_back(word);
  }
  std::sort(words.begin(), words.end());
  return words;
}

TEST(Completion, OffersCommandsOptionsAndNames) {
  EXPECT_EQ(offered({"lacuna", "pe"}), Words({"perf"}));
  EXPECT_EQ(offered({"lacuna", "--v"}), Words({"--version"}));
  EXPECT_EQ(offered({"lacuna", "perf", "--perc"}), Words({"--percentiles"}));
  EXPECT_EQ(offered({"lacuna", "perf", "allg"}), Words({"allgather", "allgatherv"}));
  EXPECT_EQ(offered({"lacuna", "perf", "--algorithm", "halv"}), Words({"halving_doubling"}));
  EXPECT_EQ(offered({"lacuna", "explain", "allreduce", "-a", "skip_ri"}), Words({"skip_ring"}));
  EXPECT_EQ(offered({"lacuna", "perf", "-d", "bf"}), Words({"bf16"}));
  EXPECT_EQ(offered({"lacuna", "perf", "--op", "=", "su"}), Words({"sum"}));
  EXPECT_EQ(offered({"lacuna", "graph", "topology", "hyper"}), Words({"hypercube"}));
  EXPECT_EQ(offered({"lacuna", "perf", "-n", ""}), Words()) << "a number";
  EXPECT_EQ(offered({"lacuna", "perf", "-J", ""}), Words()) << "bash offers files by itself";
}

TEST(Completion, OffersAllMethodsWhereOneIsMeant) {
  Words methods;
  for (const Method* method : all_methods()) methods.emplace_back(method->name);
  std::sort(methods.begin(), methods.end());
  EXPECT_EQ(offered({"lacuna", "perf", "allreduce", "--method", ""}), methods);
  EXPECT_EQ(offered({"lacuna", "list", ""}), methods);
}

TEST(Completion, OfACommandThatIsLaunchedIsItsOwn) {
  EXPECT_EQ(offered({"lacuna", "launch", "-n", "2", "--", "/somewhere/lacuna", "perf", "--perc"}),
            Words({"--percentiles"}));
  EXPECT_EQ(offered({"lacuna", "launch", "--prog"}), Words({"--progress"}));
}

TEST(Completion, KnowsTheNamesForEveryOptionThatTakesOne) {
  int options = 0;
  for (const std::string& command : offered({"lacuna", ""})) {
    if (command.starts_with('-')) continue;
    const std::string help = lacuna({command, "--help"}).output;
    const std::regex option("\n  (--?[a-z]+)[^ \n]* (NAME|METHOD|ALGORITHM)\\b(?!=VALUE)");
    for (std::sregex_iterator found(help.begin(), help.end(), option), end; found != end; ++found, ++options) {
      EXPECT_GE(offered({"lacuna", command, (*found)[1], ""}).size(), 2u) << command << ' ' << (*found)[1];
    }
  }
  EXPECT_GE(options, 8);
}

}  // namespace
}  // namespace lacuna::cli
