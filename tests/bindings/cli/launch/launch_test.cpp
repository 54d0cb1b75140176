#include "bindings/cli/launch/launch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "bindings/cli/launch/binding.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/output_file.hpp"
#include "tests/support/process.hpp"

namespace lacuna::cli {
namespace {

using namespace std::chrono_literals;
using runtime::Clock;
using test::OutputFile;
using test::Process;

/// Waits until the file holds `part` that many times.
bool waits_for(const OutputFile& file, const std::string& part, std::size_t times = 1) {
  const auto deadline = Clock::now() + 60s;
  while (Clock::now() < deadline) {
    const std::string now = file.text();
    std::size_t found = 0;
    for (std::size_t at = now.find(part); at != std::string::npos; at = now.find(part, at + 1)) ++found;
    if (found >= times) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

/// A launcher in a process of its own, in which no signal is ignored, or only the given one.
class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options, int ignored = 0)
      : process_([&, ignored](const Process::Say&) {
          for (int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, number == ignored ? SIG_IGN : SIG_DFL);
          ::dup2(out_.fd(), STDOUT_FILENO);
          ::dup2(err_.fd(), STDERR_FILENO);
          ::_exit(launch(options));
        }) {}

  int wait() { return process_.wait(); }
  void signal(int number) const { process_.signal(number); }
  const OutputFile& out() const { return out_; }
  const OutputFile& err() const { return err_; }
  /// Returns the lines of standard output, sorted, because ranks print in any order.
  std::vector<std::string> lines() const {
    std::istringstream stream(out_.text());
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  }

 private:
  OutputFile out_;
  OutputFile err_;
  Process process_;
};

/// Times that no test reaches.
constexpr std::chrono::milliseconds ample = 60s;

/// Returns options for ranks that run a script of the shell.
LaunchOptions script(int ranks, const std::string& text) {
  return {.ranks = ranks, .command = {"/bin/sh", "-c", text}, .patience = 200ms, .grace = 300ms, .closing = 300ms};
}

/// Returns true for a zombie too, because not every container has an init that reaps.
bool has_ended(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  if (!std::getline(file, stat)) return true;
  return stat.compare(stat.rfind(')'), 3, ") Z") == 0;
}

bool ends_soon(pid_t pid) {
  const auto deadline = Clock::now() + 30s;
  while (!has_ended(pid) && Clock::now() < deadline) std::this_thread::sleep_for(5ms);
  return has_ended(pid);
}

/// A line of a script that tells other ranks, by a file of this name, which process has come to this line.
std::string tell(const test::Folder& folder, const std::string& name) {
  const std::string path = folder / name;
  return "echo $$ > " + path + ".new; mv " + path + ".new " + path + "; ";
}

/// Lines of a script that wait until another rank has come to tell(), or until it has ended. The launcher reaps no rank
/// before all have ended.
std::string until_told(const test::Folder& folder, const std::string& name) {
  return "until [ -e " + (folder / name).string() + " ]; do sleep 0.01; done; ";
}
std::string until_ended(const test::Folder& folder, const std::string& name) {
  return until_told(folder, name) + "until grep -q ') Z' /proc/$(cat " + (folder / name).string() +
         ")/stat; do sleep 0.01; done; ";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in '" << text << "'";
}

TEST(Launch, EachRankIsToldItsRankAndTheSize) {
  Launcher launcher(script(3, "echo rank $LACUNA_RANK of $LACUNA_SIZE"));
  EXPECT_EQ(launcher.wait(), 0);
  EXPECT_EQ(launcher.lines(), (std::vector<std::string>{"[0] rank 0 of 3", "[1] rank 1 of 3", "[2] rank 2 of 3"}));
  EXPECT_EQ(launcher.err().text(), "");
}

/// Returns options for ranks and aggregators that each run a script.
LaunchOptions with_aggregators(int ranks, const std::string& text, int aggregators, const std::string& theirs) {
  LaunchOptions options = script(ranks, text);
  options.aggregators = aggregators;
  options.aggregator = {"/bin/sh", "-c", theirs};
  return options;
}

TEST(Launch, AggregatorsFollowTheRanksAndTheirLinesNameThem) {
  const std::string says = "echo $LACUNA_RANK of $LACUNA_SIZE and $LACUNA_AGGREGATORS";
  Launcher launcher(with_aggregators(2, says, 2, says));
  EXPECT_EQ(launcher.wait(), 0);
  EXPECT_EQ(launcher.lines(), (std::vector<std::string>{"[0] 0 of 2 and 2", "[1] 1 of 2 and 2",
                                                        "[aggregator 0] 2 of 2 and 2", "[aggregator 1] 3 of 2 and 2"}));
  EXPECT_EQ(launcher.err().text(), "");
}

TEST(Launch, WithoutAggregatorsRanksInheritNoNumberOfThem) {
  ::setenv("LACUNA_AGGREGATORS", "7", 1);
  Launcher launcher(script(1, "echo ${LACUNA_AGGREGATORS:-none}"));
  ::unsetenv("LACUNA_AGGREGATORS");
  EXPECT_EQ(launcher.wait(), 0);
  EXPECT_EQ(launcher.lines(), std::vector<std::string>{"[0] none"});
}

TEST(Launch, AnAggregatorThatASignalKillsIsNamed) {
  Launcher launcher(with_aggregators(2, "sleep 60", 2, "[ $LACUNA_RANK = 3 ] && kill -9 $$; sleep 60"));
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  expect_contains(launcher.err().text(), "lacuna launch: aggregator 1 (process ");
  expect_contains(launcher.err().text(), "was killed by signal 9");
  expect_contains(launcher.err().text(), "lacuna launch: ending ranks 0, 1 and aggregator 0\n");
}

TEST(Launch, AnAggregatorThatFailsIsNamedUnlessARankFailsToo) {
  Launcher alone(with_aggregators(1, "sleep 60", 1, "exit 5"));
  EXPECT_EQ(alone.wait(), 5);
  expect_contains(alone.err().text(), "lacuna launch: aggregator 0 (process ");
  const test::Folder folder;
  LaunchOptions options = with_aggregators(2, "[ $LACUNA_RANK = 0 ] || { " + until_ended(folder, "gone") + "exit 7; }",
                                           1, tell(folder, "gone") + "exit 5");
  options.patience = ample;
  Launcher both(options);
  EXPECT_EQ(both.wait(), 7);
  expect_contains(both.err().text(), "lacuna launch: rank 1 (process ");
  EXPECT_EQ(both.err().text().find("lacuna launch: aggregator 0 (process"), std::string::npos) << both.err().text();
}

TEST(Launch, HowAggregatorsEndDoesNotMatterOnceAllRanksHaveEndedWell) {
  // The first two may end before the ranks do, and then the launcher has patience with the ranks.
  for (const auto& [theirs, patience] :
       {std::pair("exit 5", ample), {"sleep 0.1; exit 5", ample}, {"sleep 60", 200ms}}) {
    LaunchOptions options = with_aggregators(2, "true", 2, theirs);
    options.patience = patience;
    Launcher launcher(options);
    EXPECT_EQ(launcher.wait(), 0) << theirs;
    EXPECT_EQ(launcher.err().text(), "") << theirs;
  }
}

TEST(Launch, AnAggregatorIsNamedIfASignalKillsItAfterTheRanksHaveEnded) {
  LaunchOptions options = with_aggregators(2, "true", 2, "[ $LACUNA_RANK = 2 ] && sleep 0.3 && kill -9 $$");
  options.patience = ample;
  Launcher launcher(options);
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  expect_contains(launcher.err().text(), "lacuna launch: aggregator 0 (process ");
  expect_contains(launcher.err().text(), "was killed by signal 9");
}

/// Runs one rank for each processor, and one aggregator. Each says where it may run.
LaunchOptions bound_ranks(std::size_t ranks) {
  const std::string says = "grep Cpus_allowed_list /proc/self/status";
  LaunchOptions options = with_aggregators(static_cast<int>(ranks), says, 1, says);
  options.bind = true;
  options.prefix = false;
  return options;
}

TEST(Launch, BoundRanksHaveProcessorsOfTheirOwnAndAggregatorsHaveAll) {
  const Processors all = processors_of_thread();
  Launcher launcher(bound_ranks(all.size()));
  EXPECT_EQ(launcher.wait(), 0) << launcher.err().text();
  std::vector<std::string> lines = launcher.lines();
  ASSERT_EQ(lines.size(), all.size() + 1);
  for (int processor : all) {
    const std::string line = "Cpus_allowed_list:\t" + std::to_string(processor);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), line), all.size() == 1 ? 2 : 1) << line;
  }
}

TEST(Launch, BindingMoreRanksThanProcessorsIsOneClearError) {
  const std::size_t processors = processors_of_thread().size();
  Launcher launcher(bound_ranks(processors + 1));
  EXPECT_EQ(launcher.wait(), 2);
  expect_contains(launcher.err().text(), "--bind needs a processor for each of the " + std::to_string(processors + 1) +
                                             " ranks, and this process may use " + std::to_string(processors));
}

TEST(Launch, AllRanksGetOneLoopbackStoreAndOneKeyOf32Bytes) {
  ::setenv("LACUNA_KEY", "from the caller's environment", 1);
  LaunchOptions options = script(3, "echo $LACUNA_STORE $LACUNA_KEY");
  options.prefix = false;
  Launcher launcher(options);
  ::unsetenv("LACUNA_KEY");
  EXPECT_EQ(launcher.wait(), 0);
  const auto lines = launcher.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(std::set(lines.begin(), lines.end()).size(), 1u);
  EXPECT_EQ(lines[0].rfind("127.0.0.1:", 0), 0u) << lines[0];
  EXPECT_EQ(lines[0].size() - lines[0].find(' ') - 1, 64u) << lines[0];
}

TEST(Launch, TwoLaunchesDifferInStoreAndKey) {
  Launcher one(script(1, "echo $LACUNA_STORE; echo $LACUNA_KEY; sleep 0.2"));
  Launcher two(script(1, "echo $LACUNA_STORE; echo $LACUNA_KEY; sleep 0.2"));
  EXPECT_EQ(one.wait() + two.wait(), 0);
  ASSERT_EQ(one.lines().size(), 2u);
  for (const std::string& line : one.lines()) {
    for (const std::string& other : two.lines()) EXPECT_NE(line, other);
  }
}

TEST(Launch, StandardErrorIsPrefixedAndKeptApart) {
  Launcher launcher(script(1, "echo to out; echo to err >&2"));
  EXPECT_EQ(launcher.wait(), 0);
  EXPECT_EQ(launcher.out().text(), "[0] to out\n");
  EXPECT_EQ(launcher.err().text(), "[0] to err\n");
}

TEST(Launch, ALastLineWithoutABreakIsPrinted) {
  Launcher launcher(script(1, "printf 'one\\ntwo'"));
  EXPECT_EQ(launcher.wait(), 0);
  EXPECT_EQ(launcher.out().text(), "[0] one\n[0] two\n");
}

TEST(Launch, LinesOfManyRanksStayWhole) {
  Launcher launcher(script(4, "i=0; while [ $i -lt 300 ]; do echo abcdefghijklmnopqrstuvwxyz; i=$((i+1)); done"));
  EXPECT_EQ(launcher.wait(), 0);
  const auto lines = launcher.lines();
  EXPECT_EQ(lines.size(), 1200u);
  for (const std::string& line : lines) EXPECT_EQ(line.substr(3), " abcdefghijklmnopqrstuvwxyz");
}

TEST(Launch, AnExitCodeIsReturnedAndItsRankNamed) {
  Launcher launcher(script(3, "[ $LACUNA_RANK = 1 ] && exit 7; exit 0"));
  EXPECT_EQ(launcher.wait(), 7);
  expect_contains(launcher.err().text(), "lacuna launch: rank 1 (process ");
  expect_contains(launcher.err().text(), "exited with code 7");
}

TEST(Launch, ASignalIsReturnedAs128PlusItsNumber) {
  Launcher launcher(script(2, "[ $LACUNA_RANK = 1 ] && kill -9 $$; exit 0"));
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  expect_contains(launcher.err().text(), "was killed by signal 9 (Killed)");
}

TEST(Launch, OneFailureEndsTheOthers) {
  Launcher launcher(script(3, "[ $LACUNA_RANK = 2 ] && exit 3; sleep 60"));
  EXPECT_EQ(launcher.wait(), 3);
  expect_contains(launcher.err().text(), "ending ranks 0, 1");
}

TEST(Launch, TheRankThatDiedFirstIsNamedHoweverLateTheLauncherLooks) {
  for (int first = 0; first < 3; ++first) {
    LaunchOptions options = script(3, "echo $LACUNA_RANK $$; while :; do sleep 0.01; done");
    options.patience = ample;
    Launcher launcher(options);
    ASSERT_TRUE(waits_for(launcher.out(), "\n", 3));
    std::vector<pid_t> ranks;
    for (const std::string& line : launcher.lines()) ranks.push_back(static_cast<pid_t>(std::stol(line.substr(6))));
    launcher.signal(SIGSTOP);
    for (int next = 0; next < 3; ++next) {
      const pid_t rank = ranks[static_cast<std::size_t>((first + 2 * next) % 3)];
      ::kill(rank, next == 0 ? SIGKILL : SIGTERM);
      ASSERT_TRUE(ends_soon(rank));
    }
    launcher.signal(SIGCONT);
    EXPECT_EQ(launcher.wait(), 128 + SIGKILL) << first;
    expect_contains(launcher.err().text(), "lacuna launch: rank " + std::to_string(first) + " (process ");
  }
}

TEST(Launch, ARankThatWasKilledIsNamedBeforeOneThatWasFasterToExit) {
  LaunchOptions options = script(3, "[ $LACUNA_RANK = 2 ] && { sleep 0.1; kill -9 $$; }; exit 4");
  options.patience = ample;
  Launcher launcher(options);
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  expect_contains(launcher.err().text(), "lacuna launch: rank 2 (process ");
  EXPECT_EQ(launcher.err().text().find("rank 0"), std::string::npos);
}

TEST(Launch, ARankThatAbortsAfterAnotherFailedIsNotNamed) {
  const test::Folder folder;
  LaunchOptions options = script(2, "[ $LACUNA_RANK = 0 ] && { " + until_ended(folder, "gone") + "kill -6 $$; }; " +
                                        tell(folder, "gone") + "exit 4");
  options.patience = ample;
  Launcher launcher(options);
  EXPECT_EQ(launcher.wait(), 4);
  expect_contains(launcher.err().text(), "lacuna launch: rank 1 (process ");
}

TEST(Launch, SurvivorsHaveTimeToReportTheFailureThemselves) {
  const test::Folder folder;
  LaunchOptions options = script(2, "[ $LACUNA_RANK = 1 ] && { " + tell(folder, "gone") + "exit 3; }; " +
                                        until_ended(folder, "gone") + "sleep 0.3; echo rank 1 is gone; exit 4");
  options.patience = ample;
  Launcher launcher(options);
  EXPECT_EQ(launcher.wait(), 3);
  EXPECT_EQ(launcher.out().text(), "[0] rank 1 is gone\n");
  EXPECT_EQ(launcher.err().text().find("ending"), std::string::npos);
}

TEST(Launch, ARankThatIgnoresSigtermIsKilledAfterTheGrace) {
  const test::Folder folder;
  Launcher launcher(script(2, "[ $LACUNA_RANK = 1 ] && { " + until_told(folder, "ready") + "exit 3; }; trap '' TERM; " +
                                  tell(folder, "ready") + "while :; do sleep 0.05; done"));
  EXPECT_EQ(launcher.wait(), 3);
  expect_contains(launcher.err().text(), "killing rank 0");
}

TEST(Launch, AnInterruptIsPassedOnToAllRanks) {
  LaunchOptions options = script(2, "trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.02; done");
  options.closing = ample;
  Launcher launcher(options);
  ASSERT_TRUE(waits_for(launcher.out(), "ready", 2));
  launcher.signal(SIGINT);
  EXPECT_EQ(launcher.wait(), 5);
  EXPECT_TRUE(waits_for(launcher.out(), "interrupted", 2));
}

TEST(Launch, AnInterruptedRankMayTakeLongerToCloseThanTheGrace) {
  LaunchOptions options =
      script(2, "trap 'sleep 1; echo closed; exit 5' INT; echo ready; while :; do sleep 0.02; done");
  options.closing = ample;
  Launcher launcher(options);
  ASSERT_TRUE(waits_for(launcher.out(), "ready", 2));
  launcher.signal(SIGINT);
  EXPECT_EQ(launcher.wait(), 5);
  EXPECT_TRUE(waits_for(launcher.out(), "closed", 2));
}

TEST(Launch, ASignalThatWasIgnoredAtTheStartIsLeftAlone) {
  for (int ignored : {SIGHUP, SIGINT}) {  // as nohup does, and a shell with what it starts in the background
    Launcher launcher(script(2, "echo ready; sleep 1; echo done"), ignored);
    ASSERT_TRUE(waits_for(launcher.out(), "ready", 2));
    launcher.signal(ignored);
    EXPECT_EQ(launcher.wait(), 0) << "with a grace of 0.3 s";
    EXPECT_TRUE(waits_for(launcher.out(), "done", 2));
    EXPECT_EQ(launcher.err().text(), "");
  }
}

TEST(Launch, ASecondInterruptKills) {
  LaunchOptions options = script(2, "trap '' INT; echo ready; while :; do sleep 0.02; done");
  options.closing = ample;
  Launcher launcher(options);
  ASSERT_TRUE(waits_for(launcher.out(), "ready", 2));
  launcher.signal(SIGINT);
  ASSERT_TRUE(waits_for(launcher.err(), "passing it on"));
  launcher.signal(SIGINT);
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
}

TEST(Launch, RanksDieWithTheirLauncher) {
  Launcher launcher(script(2, "echo pid $$; exec sleep 60"));
  ASSERT_TRUE(waits_for(launcher.out(), "pid ", 2));
  launcher.signal(SIGKILL);
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  for (const std::string& line : launcher.lines()) {
    EXPECT_TRUE(ends_soon(static_cast<pid_t>(std::stol(line.substr(line.find("pid ") + 4))))) << line;
  }
}

TEST(Launch, WhatAFailingRankLeftBehindIsKilled) {
  Launcher launcher(script(1, "sleep 60 & echo pid $!; exit 3"));
  EXPECT_EQ(launcher.wait(), 3);
  const std::string line = launcher.lines().at(0);
  EXPECT_TRUE(ends_soon(static_cast<pid_t>(std::stol(line.substr(line.find("pid ") + 4))))) << line;
}

TEST(Launch, AProgramThatDoesNotExistIsOneClearError) {
  Launcher launcher({.ranks = 4, .command = {"no-such-program-of-lacuna"}});
  EXPECT_EQ(launcher.wait(), 127);
  EXPECT_EQ(launcher.err().text(),
            "lacuna launch: cannot execute 'no-such-program-of-lacuna': No such file or directory\n");
}

TEST(Launch, AFileThatIsNoProgramIsOneClearError) {
  Launcher launcher({.ranks = 2, .command = {"/etc/passwd"}});
  EXPECT_EQ(launcher.wait(), 126);
  EXPECT_EQ(launcher.err().text(), "lacuna launch: cannot execute '/etc/passwd': Permission denied\n");
}

TEST(Launch, ZeroRanksOrNoCommandAreRefused) {
  EXPECT_EQ(Launcher({.ranks = 0, .command = {"true"}}).wait(), 2);
  EXPECT_EQ(Launcher({.ranks = 1, .command = {}}).wait(), 2);
}

}  // namespace
}  // namespace lacuna::cli
