#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/bindings/cli/lacuna_command.hpp"

namespace lacuna::cli {
namespace {

using test::Executed;

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

TEST(CommandLaunch, ASignalThatIsIgnoredAsByNohupStaysIgnored) {
  const std::string script = "exec '" LACUNA_COMMAND "' launch -n 1 -- grep SigIgn /proc/self/status";
  for (const auto& [trap, digit] : {std::pair("trap '' HUP; ", "[13579bdf]"), {"", "[02468ace]"}}) {
    Executed shell({"/bin/sh", "-c", trap + script}, {});
    EXPECT_EQ(shell.wait(), 0) << shell.output();
    EXPECT_EQ(count(shell.output(), fmt::format("SigIgn:\\s[0-9a-f]+{}\n", digit)), 1u) << shell.output();
  }
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
