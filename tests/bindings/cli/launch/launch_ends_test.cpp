#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "tests/bindings/cli/launch/launcher.hpp"

// How a launch ends when a rank fails, or when a signal comes.
namespace lacuna::cli {
namespace {

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

TEST(Launch, SignalsOfTheUserArePassedOnAndEndNothing) {
  for (const auto& [signal, name] : {std::pair(SIGUSR1, "USR1"), {SIGUSR2, "USR2"}}) {
    LaunchOptions options = script(2, "trap 'echo got; got=1' " + std::string(name) +
                                          "; echo ready; until [ $got ]; do sleep 0.01; done; echo done");
    options.aggregators = 1;
    options.aggregator = {"/bin/sh", "-c", "echo ready; sleep 60"};
    Launcher launcher(options);
    ASSERT_TRUE(waits_for(launcher.out(), "ready", 3));
    launcher.signal(signal);
    EXPECT_EQ(launcher.wait(), 0) << launcher.err().text();
    EXPECT_TRUE(waits_for(launcher.out(), "done", 2));
    expect_contains(launcher.err().text(), "passing SIG" + std::string(name) + " on to all ranks");
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

}  // namespace
}  // namespace lacuna::cli
