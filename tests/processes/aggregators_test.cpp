// Jobs of processes with aggregators.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>

#include "tests/processes/executed.hpp"
#include "tests/processes/gate.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

constexpr std::chrono::milliseconds to_start = 60s;
constexpr std::chrono::milliseconds to_be_told = 30s;
constexpr std::chrono::milliseconds to_leave = 30s;

const std::string small_blocks = "0,planned_blocks,blocks:block=16";

/// Starts a job of so many ranks, each of which does the same, and of aggregators, which get more arguments. The
/// aggregators come last.
Job job(int ranks, int aggregators, const Words& actions, Environment environment = {}, const Words& more = {}) {
  std::vector<Words> commands;
  for (int rank = 0; rank < ranks; ++rank) {
    commands.push_back(
        {"/usr/bin/env", fmt::format("LACUNA_SIZE={}", ranks), LACUNA_WORKER, fmt::format("size={}", ranks)});
    commands.back().insert(commands.back().end(), actions.begin(), actions.end());
  }
  for (int i = 0; i < aggregators; ++i) {
    commands.push_back({"/usr/bin/env", fmt::format("LACUNA_SIZE={}", ranks), LACUNA_COMMAND, "aggregate"});
    commands.back().insert(commands.back().end(), more.begin(), more.end());
  }
  environment.insert({{"LACUNA_AGGREGATORS", std::to_string(aggregators)}, {"LACUNA_STALL", "0.3"}});
  return Job(commands, environment);
}

Words launched(int ranks, int aggregators, const Words& program) {
  Words command = {
      LACUNA_COMMAND, "launch", "-n", std::to_string(ranks), "--aggregators", std::to_string(aggregators), "--"};
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

const Environment networks[] = {
    {}, {{"LACUNA_EAGER", "0"}}, {{"LACUNA_PROGRESS", "thread"}}, {{"UCX_TLS", "tcp,self"}}};

TEST(AggregatorProcesses, PerfChecksItsResultsAndFindsNoneWrong) {
  for (const char* algorithm : {"planned_blocks", "streamed_blocks"}) {
    for (const Environment& network : networks) {
      Executed perf(launched(4, 2,
                             {LACUNA_COMMAND, "perf", "allreduce", "--method", "blocks:block=32", "--algorithm",
                              algorithm, "-b", "4", "-e", "300000", "-f", "50", "-n", "3", "-w", "1"}),
                    network);
      EXPECT_EQ(perf.wait(), 0) << perf.output();
      EXPECT_TRUE(perf.says("on 4 ranks")) << perf.output();
      EXPECT_TRUE(perf.says("# Out of bounds values : 0 OK")) << perf.output();
    }
  }
}

TEST(AggregatorProcesses, AnyNumbersOfRanksAndAggregatorsServe) {
  for (int ranks : {1, 2, 5}) {
    for (int aggregators : {1, 3}) {
      Executed perf(launched(ranks, aggregators,
                             {LACUNA_COMMAND, "perf", "allreduce", "--method", "blocks:block=32,dedicated=1", "-b", "4",
                              "-e", "40000", "-f", "100", "-n", "2", "-w", "1"}),
                    {});
      EXPECT_EQ(perf.wait(), 0) << perf.output();
      EXPECT_TRUE(perf.says("# Out of bounds values : 0 OK")) << perf.output();
    }
  }
}

TEST(AggregatorProcesses, OneRankAloneRefusesACallThatInsists) {
  Executed perf({LACUNA_COMMAND, "launch", "-n", "2", "--", LACUNA_COMMAND, "perf", "allreduce", "--method",
                 "blocks:dedicated=1", "-e", "64"},
                {});
  EXPECT_NE(perf.wait(), 0);
  for (const char* rank : {"[0] ", "[1] "}) {
    EXPECT_TRUE(perf.says(std::string(rank) + "lacuna perf: blocks.dedicated=1 needs aggregators, and this job has "
                                              "none"))
        << perf.output();
  }
}

TEST(AggregatorProcesses, AKilledAggregatorIsNamedByEveryRank) {
  for (const Environment& network : networks) {
    Job all = job(3, 2, {"stream=allreduce,f32,sum,20000," + small_blocks, "poisoned"}, network);
    for (std::size_t rank : {0, 1, 2}) ASSERT_TRUE(all[rank].says("streaming", to_start)) << all[rank].output();
    all[4].signal(SIGKILL);
    for (std::size_t rank : {0, 1, 2}) {
      const std::string text = "peer failed: aggregator 1 (host here) died: its connection ended without a goodbye";
      EXPECT_TRUE(all[rank].says("call: " + text, to_be_told)) << all[rank].output();
      EXPECT_TRUE(all[rank].says("poisoned: " + text)) << all[rank].output();
      EXPECT_EQ(all[rank].wait(to_leave), 0) << all[rank].output();
    }
    EXPECT_EQ(all[3].wait(to_leave), 1) << "the other aggregator ends too: " << all[3].output();
    EXPECT_TRUE(all[3].says("aggregator 1 (host here) died")) << all[3].output();
  }
}

TEST(AggregatorProcesses, AStoppedAggregatorIsNamedByEveryRank) {
  Job all = job(2, 1, {"stream=allreduce,f32,sum,20000," + small_blocks}, {{"LACUNA_WATCH_TIMEOUT", "3"}});
  for (std::size_t rank : {0, 1}) ASSERT_TRUE(all[rank].says("streaming", to_start)) << all[rank].output();
  all[2].signal(SIGSTOP);
  for (std::size_t rank : {0, 1}) {
    EXPECT_TRUE(
        all[rank].says("call: peer failed: aggregator 0 (host here) does not answer rank 0 for 3 s", to_be_told))
        << all[rank].output();
  }
}

TEST(AggregatorProcesses, AKilledRankEndsTheAggregators) {
  for (std::size_t killed : {0, 1}) {
    Job all = job(3, 2, {"stream=allreduce,f32,sum,20000," + small_blocks});
    for (std::size_t rank : {0, 1, 2}) ASSERT_TRUE(all[rank].says("streaming", to_start)) << all[rank].output();
    all[killed].signal(SIGKILL);
    for (std::size_t i : {3, 4}) {
      EXPECT_EQ(all[i].wait(to_leave), 1) << all[i].output();
      EXPECT_TRUE(all[i].says(fmt::format("lacuna aggregate: peer failed: rank {} (host here) died", killed)))
          << all[i].output();
    }
  }
}

/// The processor time that a process has used.
std::chrono::milliseconds used_by(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  long user = 0, system = 0;
  fields >> user >> system;
  return std::chrono::milliseconds((user + system) * 1000 / ::sysconf(_SC_CLK_TCK));
}

TEST(AggregatorProcesses, IdleAggregatorsSleep) {
  Job all = job(1, 1, {"call=allreduce,f32,sum,100," + small_blocks, "sleep=2500"});
  ASSERT_TRUE(all[0].says("call: ok", to_start)) << all[0].output();
  const auto before = used_by(all[1].pid());
  std::this_thread::sleep_for(2s);
  EXPECT_LT(used_by(all[1].pid()) - before, 1s) << "it polls";
  EXPECT_EQ(all[0].wait(to_leave), 0) << all[0].output();
  EXPECT_EQ(all[1].wait(to_leave), 0) << all[1].output();
}

TEST(AggregatorProcesses, AJobMayGoThroughTheSameAggregatorsAgainAndAgain) {
  Words actions;
  for (int call = 0; call < 50; ++call) {
    actions.push_back(fmt::format("call=allreduce,f32,sum,{},{}", call * 31, small_blocks));
  }
  Job all = job(3, 2, actions);
  for (std::size_t rank : {0, 1, 2}) {
    EXPECT_EQ(all[rank].wait(to_start), 0) << all[rank].output();
    EXPECT_EQ(all[rank].output().find("call: m"), std::string::npos) << all[rank].output();
  }
  for (std::size_t i : {3, 4}) EXPECT_EQ(all[i].wait(to_leave), 0) << all[i].output();
}

/// How many descriptors a process has open.
std::ptrdiff_t descriptors_of(pid_t process) {
  const std::filesystem::directory_iterator open(fmt::format("/proc/{}/fd", process));
  return std::distance(begin(open), end(open));
}

TEST(AggregatorProcesses, TheyServeOneJobAfterAnotherAlsoAfterAFailureOfWhichNothingStays) {
  const Gate gate;
  std::vector<std::ptrdiff_t> before;
  const Words calls = {"call=allreduce,f32,sum,700," + small_blocks, gate.action(),
                       "call=allreduce,i32,max,3000," + small_blocks};
  gate.open();
  Job all = job(2, 2, calls, {}, {"--jobs", "4"});
  for (int run = 0; run < 4; ++run) {
    if (run >= 2) gate.close();
    if (run > 0) {
      for (std::size_t rank : {0, 1}) all.restart(rank);
    }
    for (std::size_t rank : {0, 1}) ASSERT_TRUE(all[rank].says("at the gate", to_start)) << all[rank].output();
    std::vector<std::ptrdiff_t> open;
    for (std::size_t i : {2, 3}) open.push_back(descriptors_of(all[i].pid()));
    if (run == 2) {
      before = open;
      all[1].signal(SIGKILL);
      gate.open();
      EXPECT_TRUE(all[0].says("call: peer failed: rank 1 (host here) died", to_be_told)) << all[0].output();
      EXPECT_NE(all[0].wait(to_leave), -1) << all[0].output();
      for (std::size_t i : {2, 3}) EXPECT_TRUE(all[i].says("rank 1 (host here) died")) << all[i].output();
      continue;
    }
    if (run == 3) {
      EXPECT_EQ(open, before);
    }
    gate.open();
    for (std::size_t rank : {0, 1}) EXPECT_EQ(all[rank].wait(to_start), 0) << run << ": " << all[rank].output();
  }
  for (std::size_t i : {2, 3}) EXPECT_EQ(all[i].wait(to_leave), 0) << all[i].output();
}

TEST(AggregatorProcesses, LaunchNamesAKilledAggregatorAndReturnsItsSignal) {
  Executed all({LACUNA_COMMAND, "launch", "-n", "2", "--aggregators", "1", "--", "sh", "-c",
                std::string("exec ") + LACUNA_WORKER + " size=2 stream=allreduce,f32,sum,20000," + small_blocks},
               {});
  ASSERT_TRUE(all.says("[1] streaming", to_start)) << all.output();
  Executed killer({"pkill", "-9", "-P", std::to_string(all.pid()), "-f", "lacuna aggregate"}, {});
  EXPECT_EQ(killer.wait(), 0) << killer.output();
  EXPECT_EQ(all.wait(), 128 + SIGKILL) << all.output();
  EXPECT_TRUE(std::regex_search(all.output(),
                                std::regex("lacuna launch: aggregator 0 \\(process [0-9]+\\) was killed by signal 9")))
      << all.output();
  EXPECT_TRUE(all.says("aggregator 0 (host ")) << all.output();
}

TEST(AggregatorProcesses, LaunchReturnsHowARankEnded) {
  const Words ends = {"sh", "-c",
                      std::string(LACUNA_WORKER) + " size=2 call=allreduce,f32,sum,100," + small_blocks +
                          " && exit $((LACUNA_RANK * 3))"};
  Executed all(launched(2, 2, ends), {});
  EXPECT_EQ(all.wait(), 3) << all.output();
  EXPECT_TRUE(all.says("lacuna launch: rank 1 (process ")) << all.output();
  Executed well(launched(2, 2, {LACUNA_WORKER, "size=2", "call=allreduce,f32,sum,100," + small_blocks}), {});
  EXPECT_EQ(well.wait(), 0) << well.output();
  EXPECT_EQ(well.output().find("lacuna launch:"), std::string::npos) << well.output();
}

TEST(AggregatorProcesses, ProgramsThatJoinNoJobAreNotHeldUp) {
  Executed all(launched(2, 1, {"echo", "done"}), {});
  EXPECT_EQ(all.wait(to_be_told), 0) << all.output();
  EXPECT_TRUE(all.says("[0] done")) << all.output();
}

TEST(AggregatorProcesses, AnAggregatorWithoutAJobSaysWhatItNeeds) {
  Executed lone({LACUNA_COMMAND, "aggregate"}, {});
  EXPECT_EQ(lone.wait(), 1);
  EXPECT_TRUE(lone.says("an aggregator needs LACUNA_SIZE and LACUNA_AGGREGATORS")) << lone.output();
  Executed wrong({LACUNA_COMMAND, "aggregate"},
                 {{"LACUNA_SIZE", "2"}, {"LACUNA_AGGREGATORS", "3"}, {"LACUNA_RANK", "1"}});
  EXPECT_EQ(wrong.wait(), 1);
  EXPECT_TRUE(wrong.says("LACUNA_RANK of an aggregator is 1: in a job of 2 ranks and 3 aggregators it must be 2 .. 4"))
      << wrong.output();
}

TEST(AggregatorProcesses, NumbersOfAggregatorsThatDifferAreRefused) {
  const Words two = {"/usr/bin/env", "LACUNA_SIZE=1", "LACUNA_AGGREGATORS=2", LACUNA_WORKER, "size=1"};
  const Words also_two = {"/usr/bin/env", "LACUNA_SIZE=2", "LACUNA_AGGREGATORS=1", LACUNA_COMMAND, "aggregate"};
  const Words aggregator = {"/usr/bin/env", "LACUNA_SIZE=1", "LACUNA_AGGREGATORS=2", LACUNA_COMMAND, "aggregate"};
  Job all({two, aggregator, also_two}, {});
  for (std::size_t process : {0, 1, 2}) {
    EXPECT_EQ(all[process].wait(to_start), 1) << all[process].output();
    EXPECT_TRUE(all[process].says("LACUNA_AGGREGATORS differs: ranks 0, 1 have 2; rank 2 has 1"))
        << all[process].output();
  }
}

}  // namespace
}  // namespace lacuna::test
