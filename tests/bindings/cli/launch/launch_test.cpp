#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <set>

#include "bindings/cli/launch/binding.hpp"
#include "tests/bindings/cli/launch/launcher.hpp"
#include "tests/support/refused_calls.hpp"

// How ranks start, and what becomes of their output.
namespace lacuna::cli {
namespace {

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

TEST(Launch, ASystemThatTellsOfNoSignalsIsRefused) {
  test::OutputFile errors;
  Process launcher([&](const Process::Say&) {
    ::dup2(errors.fd(), STDERR_FILENO);
    if (!test::refuse_call(SYS_signalfd4, EPERM)) ::_exit(1);
    ::_exit(launch(script(1, "exit 3")));
  });
  EXPECT_EQ(launcher.wait(), 1);
  expect_contains(errors.text(), "lacuna launch: the system gives no descriptor that tells of signals (signalfd)");
}

TEST(Launch, ZeroRanksOrNoCommandAreRefused) {
  EXPECT_EQ(Launcher({.ranks = 0, .command = {"true"}}).wait(), 2);
  EXPECT_EQ(Launcher({.ranks = 1, .command = {}}).wait(), 2);
}

}  // namespace
}  // namespace lacuna::cli
