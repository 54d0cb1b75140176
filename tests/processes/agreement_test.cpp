#include <gtest/gtest.h>

#include <numeric>
#include <regex>

#include "tests/processes/executed.hpp"
#include "tests/processes/gate.hpp"

// What processes are told that made different calls, each of which ended well where it was made.
namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Actions = std::vector<std::string>;

struct Network {
  std::string name;
  Environment environment;
};

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

class Agreement : public testing::TestWithParam<Network> {
 protected:
  static Job job(const std::vector<Actions>& actions, const Environment& environment) {
    std::vector<std::vector<std::string>> commands;
    for (const Actions& mine : actions) {
      commands.push_back({LACUNA_WORKER, "size=" + std::to_string(actions.size())});
      commands.back().insert(commands.back().end(), mine.begin(), mine.end());
    }
    return Job(commands, environment);
  }

  /// Returns what these ranks have printed when they have left, log lines included.
  static std::string said_by(Job& job, const std::vector<std::size_t>& ranks) {
    std::string all;
    for (std::size_t rank : ranks) {
      EXPECT_EQ(job[rank].wait(60s), 0) << job[rank].output();
      all += job[rank].output();
    }
    return all;
  }
  std::string said_by(const std::vector<Actions>& actions) const {
    Job ranks = job(actions, GetParam().environment);
    std::vector<std::size_t> all(ranks.size());
    std::iota(all.begin(), all.end(), 0);
    return said_by(ranks, all);
  }

  static void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
};

const Actions root_0 = {"call=broadcast,f32,sum,10,0"}, root_1 = {"call=broadcast,f32,sum,10,1"};

Actions then(Actions first, const std::string& more) {
  first.push_back(more);
  return first;
}

TEST_P(Agreement, ABroadcastWithTwoRootsIsSaidWhenTheRanksLeave) {
  expect_parts(said_by({root_0, root_1, root_0}), {"call 1 ", "posted broadcast tree f32 count 10 root 0",
                                                   "rank 1 posted broadcast tree f32 count 10 root 1"});
}

TEST_P(Agreement, WhoeverLeavesLastSaysIt) {
  for (std::size_t last : {0, 1}) {
    std::vector<Actions> actions = {root_0, root_1};
    actions[last].push_back("sleep=700");
    actions[last].insert(actions[last].begin(), "sleep=300");  // what the other rank sent is dropped with it
    expect_parts(said_by(actions), {"call 1 ", "rank 0 posted broadcast tree f32 count 10 root 0",
                                    "rank 1 posted broadcast tree f32 count 10 root 1"});
  }
}

TEST_P(Agreement, ACallThatTheOthersNeverMadeIsSaidWhenTheRanksLeave) {
  const std::string said = said_by({{}, root_1, {}});
  // Rank 1 may compare itself with one of the others only, and its own call fails if they have gone already.
  EXPECT_TRUE(std::regex_search(said, std::regex("(rank 0|rank 2|ranks 0, 2) left (the job )?before call 1"))) << said;
}

TEST_P(Agreement, WhatDiffersInAGroupIsSaidThoughRankZeroIsNoMember) {
  const Gate gate;
  const Actions outside = {"split=2", gate.action()};
  const Actions split = {"split=2"};  // ranks 3 and 1 are ranks 0 and 1 of the group
  Job ranks = job({outside, then(split, root_1[0]), outside, then(split, root_0[0])}, GetParam().environment);
  const std::string members = said_by(ranks, {1, 3});
  gate.open();
  expect_parts(members + said_by(ranks, {0, 2}), {"rank 1 posted broadcast tree f32 count 10 root 1",
                                                  "rank 3 posted broadcast tree f32 count 10 root 0"});
}

TEST_P(Agreement, RanksThatAgreeLeaveWithoutAWord) {
  EXPECT_EQ(said_by({root_1, root_1, root_1}).find("lacuna"), std::string::npos);
}

TEST_P(Agreement, ChunksThatDifferAreNamedByTheirNumberOfParts) {
  const std::string call = "call=allreduce,f32,sum,40000,0,ring";
  std::vector<std::vector<std::string>> commands(2, {LACUNA_WORKER, "size=2", call});
  commands[1].insert(commands[1].begin(), {"/usr/bin/env", "LACUNA_CHUNK=8K"});
  Job ranks(commands, GetParam().environment);
  for (std::size_t rank : {0, 1}) {
    EXPECT_TRUE(
        ranks[rank].says("rank 0 posted allreduce ring f32 count 40000 sum; rank 1 posted allreduce ring f32 "
                         "count 40000 sum in 8 parts"))
        << ranks[rank].output();
  }
}

TEST_P(Agreement, InAGroupWithoutRankZeroWhichHasLeftBothSidesAreNamedOnAllRanks) {
  Environment environment = GetParam().environment;
  environment["LACUNA_STALL"] = "0.2";
  const Gate gate;
  const Actions leaves = {"split=2"}, stays = {"split=2", gate.action()};
  const std::string call = "call=reduce,f32,sum,10,";  // ranks 3 and 1 are the group's ranks 0 and 1
  Job ranks = job({leaves, then(stays, call + "1"), leaves, then(stays, call + "0")}, environment);
  said_by(ranks, {0, 2});
  gate.open();
  for (std::size_t rank : {1, 3}) {
    EXPECT_EQ(ranks[rank].wait(60s), 0) << ranks[rank].output();
    EXPECT_TRUE(
        ranks[rank].says("mismatch: call 0 of ranks 1, 3 differs: rank 1 posted reduce tree f32 count 10 sum root 1; "
                         "rank 3 posted reduce tree f32 count 10 sum root 0"))
        << ranks[rank].output();
  }
}

std::vector<std::string> lines_with(const std::string& text, const std::string& start) {
  std::vector<std::string> lines;
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  }
  return lines;
}

TEST_P(Agreement, JobsMadeAlikeDrawAlikeAndTheirCommunicatorsDifferently) {
  const Actions actions = {"draws", "split=1", "draws", "split=1", "draws", "split=2", "draws"};
  const std::vector<std::string> first = lines_with(said_by(std::vector<Actions>(4, actions)), "draws:");
  const std::vector<std::string> second = lines_with(said_by(std::vector<Actions>(4, actions)), "draws:");
  EXPECT_EQ(first, second);
  ASSERT_EQ(first.size(), 16u);
  EXPECT_NE(first[0], first[1]) << "a part draws what the whole does";
  EXPECT_NE(first[1], first[2]) << "a part of a part draws what the part does";
  EXPECT_NE(first[3], first[7]) << "two colours draw the same";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(first[i], first[4 + i]) << "ranks have different results";
}

INSTANTIATE_TEST_SUITE_P(Processes, Agreement,
                         testing::Values(Network{"SharedMemory", {}}, Network{"Tcp", {{"UCX_TLS", "tcp,self"}}}),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace lacuna::test
