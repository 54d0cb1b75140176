#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>

#include "runtime/job/watch.hpp"
#include "tests/processes/executed.hpp"
#include "tests/processes/gate.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds to_start = 60s;
constexpr std::chrono::milliseconds to_be_told = 30s;  // how long the watch's times below take on a busy host
constexpr std::chrono::milliseconds to_leave = 30s;

/// The network: shared memory, TCP, messages that are fetched, and messages that are read in place.
struct Network {
  std::string name;
  Environment environment;
};

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

const Network networks[] = {
    {"SharedMemory", {}},
    {"SharedMemoryRendezvous", {{"LACUNA_EAGER", "0"}}},
    {"SharedMemoryThread", {{"LACUNA_PROGRESS", "thread"}}},
    {"Tcp", {{"UCX_TLS", "tcp,self"}}},
    {"TcpRendezvousThread", {{"UCX_TLS", "tcp,self"}, {"LACUNA_EAGER", "0"}, {"LACUNA_PROGRESS", "thread"}}},
    {"SharedMemoryMapped", {{"LACUNA_MAPPED", "1"}}}};

class Faults : public testing::TestWithParam<Network> {
 protected:
  /// Starts ranks whose actions after "size=N" are `actions`. Each then checks what a poisoned communicator answers.
  Job job(const std::vector<std::vector<std::string>>& actions, Environment environment = {}) const {
    std::vector<std::vector<std::string>> commands;
    for (const auto& mine : actions) {
      commands.push_back({LACUNA_WORKER, "size=" + std::to_string(actions.size())});
      commands.back().insert(commands.back().end(), mine.begin(), mine.end());
      commands.back().push_back("poisoned");
    }
    const Environment& network = GetParam().environment;
    environment.insert(network.begin(), network.end());
    environment.insert({{"LACUNA_STALL", "0.3"}, {"LACUNA_CHUNK", "64K"}});
    if (!environment.contains("LACUNA_MAPPED")) environment["LACUNA_MAPPABLE"] = "0";
    return Job(commands, environment);
  }

  /// The rank's call must have failed with this text, every later call too, and the process must end by itself.
  static void expect_failure(Executed& rank, const std::string& text) {
    EXPECT_TRUE(rank.says("call: " + text, to_be_told)) << "expected: " << text << "\nsays:\n" << rank.output();
    EXPECT_TRUE(rank.says("poisoned: " + text)) << rank.output();
    EXPECT_EQ(rank.wait(to_leave), 0) << rank.output();
  }
};

/// These faults also depend on who moves the messages, and how.
using Kills = Faults;

/// In these faults the network takes a message before its receiver looks.
using Leaving = Faults;

using Actions = std::vector<std::string>;
const Actions stream = {"stream=allreduce,f32,sum,200000"};
const Actions until_poisoned = {"poisoned=60000"};  // however long that takes on a busy host
const Environment short_watch = {{"LACUNA_WATCH_TIMEOUT", "3"}};

TEST_P(Kills, AKilledRankIsNamedByEverySurvivor) {
  Job ranks = job({stream, stream, stream});
  for (std::size_t rank : {0, 1, 2}) ASSERT_TRUE(ranks[rank].says("streaming", to_start)) << ranks[rank].output();
  ranks[1].signal(SIGKILL);
  for (std::size_t rank : {0, 2}) {
    expect_failure(ranks[rank], "peer failed: rank 1 (host here) died: its connection ended without a goodbye");
  }
}

TEST_P(Kills, AKilledRankZeroIsNamedByEverySurvivor) {
  Job ranks = job({stream, stream, stream});
  for (std::size_t rank : {0, 1, 2}) ASSERT_TRUE(ranks[rank].says("streaming", to_start)) << ranks[rank].output();
  ranks[0].signal(SIGKILL);
  for (std::size_t rank : {1, 2}) {
    expect_failure(ranks[rank], "peer failed: rank 0 (host here) died: its connection ended without a goodbye");
  }
}

TEST_P(Kills, AKilledRankIsNamedToAReceiveFromAnyRank) {
  const Actions any = {"any"};
  Job ranks = job({any, any, any});
  for (std::size_t rank : {0, 1, 2}) ASSERT_TRUE(ranks[rank].says("waiting for any", to_start)) << ranks[rank].output();
  ranks[1].signal(SIGKILL);
  for (std::size_t rank : {0, 2}) {
    expect_failure(ranks[rank], "peer failed: rank 1 (host here) died: its connection ended without a goodbye");
  }
}

TEST_P(Kills, AKilledRankIsNamedWhileEntriesTravel) {
  const std::pair<const char*, const char*> methods[] = {{"sparse_allgather", "topk:density=1;feedback=0"},
                                                         {"sparse_split", "topk:density=1;feedback=0"},
                                                         {"sparse_ring", "topk:density=1;feedback=0"},
                                                         {"sparse_doubling", "topk:density=1;feedback=0"},
                                                         {"ok_topk", "ok_topk:density=0.1;trigger=1"}};
  for (const auto& [algorithm, method] : methods) {
    const Actions sparse = {fmt::format("stream=allreduce,f32,sum,200000,0,{},{}", algorithm, method)};
    Job ranks = job({sparse, sparse, sparse});
    for (std::size_t rank : {0, 1, 2}) ASSERT_TRUE(ranks[rank].says("streaming", to_start)) << ranks[rank].output();
    ranks[2].signal(SIGKILL);
    for (std::size_t rank : {0, 1}) {
      expect_failure(ranks[rank], "peer failed: rank 2 (host here) died: its connection ended without a goodbye");
    }
  }
}

TEST_P(Faults, AStoppedRankIsNamedByEveryOtherAndByItselfWhenItWakes) {
  Job ranks = job({stream, stream, stream}, short_watch);
  for (std::size_t rank : {0, 1, 2}) ASSERT_TRUE(ranks[rank].says("streaming", to_start)) << ranks[rank].output();
  const std::string text = "peer failed: rank 2 (host here) does not answer rank 0 for 3 s (stopped, or cut off?)";
  ranks[2].signal(SIGSTOP);
  for (std::size_t rank : {0, 1}) expect_failure(ranks[rank], text);
  ranks[2].signal(SIGCONT);
  expect_failure(ranks[2], text);
}

TEST_P(Faults, AStoppedRankZeroIsNamedByEveryOther) {
  Job ranks = job({stream, stream, stream}, short_watch);
  for (std::size_t rank : {0, 1, 2}) ASSERT_TRUE(ranks[rank].says("streaming", to_start)) << ranks[rank].output();
  ranks[0].signal(SIGSTOP);
  for (std::size_t rank : {1, 2}) {
    expect_failure(ranks[rank], fmt::format("peer failed: rank 0 (host here) does not answer rank {} for 3 s "
                                            "(stopped, or cut off?)",
                                            rank));
  }
}

TEST_P(Faults, ARankThatLeavesEarlyIsNamed) {
  Job ranks = job({{"call=allreduce"}, {"call=allreduce"}, {}});
  for (std::size_t rank : {0, 1}) expect_failure(ranks[rank], "peer failed: rank 2 left the job before call 1");
  EXPECT_EQ(ranks[2].wait(to_leave), 1) << ranks[2].output();
}

TEST_P(Faults, ARankThatNeverPostsIsNamedWhenTheDeadlinePasses) {
  const Gate gate;  // so that ranks 0 and 1 post at the same time
  const Actions posts = {gate.action(), "call=allreduce,f32,sum,50000"};
  Job ranks = job({posts, posts, until_poisoned}, {{"LACUNA_DEADLINE", "2"}});
  for (std::size_t rank : {0, 1}) ASSERT_TRUE(ranks[rank].says("at the gate", to_start)) << ranks[rank].output();
  gate.open();
  for (std::size_t rank : {0, 1}) {
    EXPECT_TRUE(ranks[rank].says("call: timed out: call 1 ran out of time", to_be_told)) << ranks[rank].output();
    EXPECT_TRUE(ranks[rank].says("; rank 2 has not posted it")) << ranks[rank].output();
    EXPECT_TRUE(ranks[rank].says("poisoned: timed out: call 1 ran out of time")) << ranks[rank].output();
    EXPECT_EQ(ranks[rank].wait(to_leave), 0) << ranks[rank].output();
  }
  EXPECT_TRUE(ranks[2].says("poisoned: timed out: call 1 ran out of time")) << ranks[2].output();
  EXPECT_EQ(ranks[2].wait(to_leave), 0) << ranks[2].output();
}

TEST_P(Faults, DestroyingAnUnfinishedRequestEndsWithItsDeadline) {
  const Gate never_opened;
  Job ranks = job({{"hold=allreduce,f32,sum,50000"}, {never_opened.action()}}, {{"LACUNA_DEADLINE", "2"}});
  EXPECT_TRUE(ranks[0].says("poisoned: no", to_start)) << ranks[0].output();  // so it ends its requests and leaves
  EXPECT_EQ(ranks[0].wait(to_be_told), 1) << ranks[0].output();
  EXPECT_TRUE(ranks[0].says("left after")) << ranks[0].output();
}

/// Four ranks in two groups. Ranks 1 and 3 fail a call of theirs; then all ranks meet again in the whole job.
class GroupFaults : public Faults {
 protected:
  void expect_only_the_odd_group_to_fail(const Actions& rank_1, const Actions& rank_3, const std::string& text,
                                         Environment environment) {
    const Gate gate, last_gate;
    const Actions outside = {"size=2", last_gate.action(), "outer=4"},
                  inside = {until_poisoned[0], last_gate.action(), "outer=4"};
    std::vector<Actions> commands;
    for (Actions mine : {outside, rank_1, outside, rank_3}) {
      if (mine != outside) mine.insert(mine.end(), inside.begin(), inside.end());
      mine.insert(mine.begin(), {LACUNA_WORKER, "size=4", "split=2", gate.action()});
      commands.push_back(std::move(mine));
    }
    const Environment& network = GetParam().environment;
    environment.insert(network.begin(), network.end());
    environment.insert({"LACUNA_STALL", "0.3"});
    Job ranks(commands, environment);
    for (std::size_t rank = 0; rank < 4; ++rank) ASSERT_TRUE(ranks[rank].says("at the gate", to_start));
    gate.open();
    for (std::size_t rank = 0; rank < 4; ++rank) {
      EXPECT_TRUE(ranks[rank].says(rank % 2 == 1 ? "poisoned: " + text : "size 2: right")) << ranks[rank].output();
    }
    last_gate.open();
    for (std::size_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(ranks[rank].wait(to_be_told + to_leave), 0) << ranks[rank].output();
      EXPECT_TRUE(ranks[rank].says("outer 4: right")) << ranks[rank].output();
    }
  }
};

TEST_P(GroupFaults, AMismatchNamesItsMembersAndTheOthersGoOn) {
  expect_only_the_odd_group_to_fail({"call=allreduce,f32,sum,100"}, {"call=allreduce,f32,sum,99"},
                                    "mismatch: call 0 of ranks 1, 3 differs: rank 1 posted", {});
}

TEST_P(GroupFaults, ADeadlineNamesTheLateMemberAndTheOthersGoOn) {
  expect_only_the_odd_group_to_fail({"call=allreduce,f32,sum,100000"}, {}, "timed out: call 0 of ranks 1, 3 ran out",
                                    {{"LACUNA_DEADLINE", "2"}});
}

TEST_P(GroupFaults, ADeathEndsAllGroups) {
  const Actions in_halves = {"split=2", stream.front()};
  Job ranks = job({in_halves, in_halves, in_halves, in_halves});
  for (std::size_t rank = 0; rank < 4; ++rank) ASSERT_TRUE(ranks[rank].says("streaming", to_start));
  ranks[1].signal(SIGKILL);
  for (std::size_t rank : {0, 2, 3}) {
    expect_failure(ranks[rank], "peer failed: rank 1 (host here) died: its connection ended without a goodbye");
  }
}

TEST_P(Leaving, ARankThatLeavesIsHeardByThoseWhoAreBusyElsewhere) {
  const Gate gate;
  const std::string connect = "call=allreduce,f32,sum,300000", broadcast = "call=broadcast,f32,sum,1000,0";
  const Actions others = {LACUNA_WORKER, "size=3", connect, gate.action(), broadcast};
  Job ranks({{LACUNA_WORKER, "size=3", connect, broadcast}, others, others}, GetParam().environment);
  EXPECT_EQ(ranks[0].wait(to_start), 0) << ranks[0].output();
  const std::string said = ranks[0].output(), left = "left after ";
  EXPECT_LT(std::stoi(said.substr(said.find(left) + left.size())), runtime::longest_leave.count()) << said;
  gate.open();
  for (std::size_t rank : {1, 2}) {
    EXPECT_EQ(ranks[rank].wait(to_leave), 0) << ranks[rank].output();
    EXPECT_TRUE(ranks[rank].says("at the gate\ncall: ok")) << ranks[rank].output();
  }
}

TEST_P(Kills, HeldRequestsEndWhenAPeerIsKilled) {
  const Actions hold = {"hold=allreduce,f32,sum,300000", "hold=allgather,f64,sum,100000", until_poisoned[0]};
  Job ranks = job({hold, until_poisoned, hold});
  for (std::size_t rank : {0, 2}) ASSERT_TRUE(ranks[rank].says("hold: ok\nhold: ok", to_start)) << ranks[rank].output();
  ranks[1].signal(SIGKILL);
  for (std::size_t rank : {0, 2}) {
    EXPECT_EQ(ranks[rank].wait(to_be_told + to_leave), 0) << ranks[rank].output();
    EXPECT_TRUE(ranks[rank].says("poisoned: peer failed: rank 1 (host here) died")) << ranks[rank].output();
  }
}

std::string name_of(const testing::TestParamInfo<Network>& given) { return given.param.name; }
INSTANTIATE_TEST_SUITE_P(Processes, Kills, testing::ValuesIn(networks), name_of);
INSTANTIATE_TEST_SUITE_P(Processes, Leaving, testing::Values(networks[0], networks[2], networks[3]), name_of);
INSTANTIATE_TEST_SUITE_P(Processes, GroupFaults, testing::Values(networks[1], networks[2], networks[3], networks[5]),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Processes, Faults, testing::Values(networks[0], networks[3], networks[4], networks[5]),
                         name_of);

/// Two calls that differ, and how the verdict shows them.
struct Difference {
  std::string name;
  std::string call_of_others, call_of_rank_1;
  std::string text_of_others, text_of_rank_1;
};

void PrintTo(const Difference& difference, std::ostream* out) { *out << difference.name; }

const Difference differences[] = {
    {"Count", "allreduce,f32,sum,1000", "allreduce,f32,sum,1001", "allreduce board f32 count 1000 sum",
     "allreduce board f32 count 1001 sum"},
    {"CountOnTheBoardOfOneRankOnly", "allreduce,f32,sum,1000", "allreduce,f32,sum,2000",
     "allreduce board f32 count 1000 sum", "allreduce recursive_doubling f32 count 2000 sum"},
    {"OnTheBoardAndWithoutMessages", "allreduce,f32,sum,1000", "broadcast,f32,sum,10,0",
     "allreduce board f32 count 1000 sum", "broadcast tree f32 count 10 root 0"},
    {"LargeCount", "allreduce,f32,sum,100000", "allreduce,f32,sum,300000", "allreduce direct f32 count 100000 sum",
     "allreduce direct f32 count 300000 sum"},
    {"Dtype", "allgather,f32,sum,64", "allgather,i32,sum,64", "allgather ring f32 count 64",
     "allgather ring i32 count 64"},
    {"Reduction", "reduce_scatter,f32,sum,64", "reduce_scatter,f32,max,64", "reduce_scatter ring f32 count 64 sum",
     "reduce_scatter ring f32 count 64 max"},
    {"Collective", "allreduce", "barrier", "allreduce board f32 count 1000 sum", "barrier board"},
    {"Algorithm", "allreduce,f32,sum,10,0,ring", "allreduce,f32,sum,10,0,recursive_doubling",
     "allreduce ring f32 count 10 sum", "allreduce recursive_doubling f32 count 10 sum"},
    {"Skip", "allreduce,f32,sum,10,0,skip_ring,1", "allreduce,f32,sum,10,0,skip_ring,0",
     "allreduce ring f32 count 10 sum with skip:steps=1 (steps 1)", "allreduce ring f32 count 10 sum"},
    {"Steps", "allreduce,f32,sum,10,0,ring,1", "allreduce,f32,sum,10,0,ring,2",
     "allreduce ring f32 count 10 sum with skip:steps=1 (steps 1)",
     "allreduce ring f32 count 10 sum with skip:steps=2 (steps 2)"},
    {"RootWhereBothSend", "broadcast,f32,sum,10,0", "broadcast,f32,sum,10,1", "broadcast tree f32 count 10 root 0",
     "broadcast tree f32 count 10 root 1"},
    {"RootWhereNobodySends", "broadcast,f32,sum,10,1", "broadcast,f32,sum,10,0", "broadcast tree f32 count 10 root 1",
     "broadcast tree f32 count 10 root 0"},
    {"EmptyCounts", "allreduce,f32,sum,0", "allgather,f32,sum,0", "allreduce board f32 count 0 sum",
     "allgather ring f32 count 0"},
};

class Mismatches : public testing::TestWithParam<std::tuple<Difference, Network>> {};

TEST_P(Mismatches, BothSidesAreNamedOnAllRanks) {
  const auto& [given, network] = GetParam();
  Environment environment = network.environment;
  environment.insert({{"LACUNA_STALL", "0.3"}, {"LACUNA_DEADLINE", "15"}});
  const Gate gate;
  // A rank may have ended its part of the call, and even the barrier after it, before the verdict comes.
  const Actions others = {LACUNA_WORKER,  "size=3",         gate.action(), "call=" + given.call_of_others,
                          "call=barrier", until_poisoned[0]};
  Actions rank_1 = others;
  rank_1[3] = "call=" + given.call_of_rank_1;
  Job ranks({others, rank_1, others}, environment);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) ASSERT_TRUE(ranks[rank].says("at the gate", to_start));
  gate.open();
  const std::string differs = "poisoned: mismatch: call 1 differs: ";
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    EXPECT_EQ(ranks[rank].wait(to_be_told + to_leave), 0) << ranks[rank].output();
    const std::string output = ranks[rank].output();
    EXPECT_NE(output.find(differs), std::string::npos) << output;
    // One of ranks 0 and 2 may not have come to the call yet when the other two are compared.
    EXPECT_NE(output.find(" posted " + given.text_of_others), std::string::npos) << output;
    EXPECT_NE(output.find("rank 1 posted " + given.text_of_rank_1), std::string::npos) << output;
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, Mismatches,
                         testing::Combine(testing::ValuesIn(differences),
                                          testing::Values(networks[0], networks[1], networks[3])),
                         [](const auto& given) {
                           return std::get<0>(given.param).name + std::get<1>(given.param).name;
                         });

TEST(Admission, ARankWithTheWrongKeyIsRefusedAndMissedByTheOthers) {
  ReservedPort port;
  std::vector<std::unique_ptr<Executed>> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    const Environment environment = {{"LACUNA_RANK", std::to_string(rank)},
                                     {"LACUNA_SIZE", "3"},
                                     {"LACUNA_STORE", port.store()},
                                     {"LACUNA_KEY", rank == 2 ? "another key" : "the key"},
                                     {"LACUNA_BOOTSTRAP_TIMEOUT", "6"}};
    ranks.push_back(std::make_unique<Executed>(Actions{LACUNA_WORKER, "size=3"}, environment));
  }
  for (int rank : {0, 1, 2}) {
    Executed& one = *ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(one.wait(to_be_told), 1) << one.output();
    EXPECT_EQ(one.output().find("join: ok"), std::string::npos) << one.output();
    EXPECT_TRUE(one.says(rank == 2 ? "LACUNA_KEY" : "rank 2", 0s)) << one.output();
  }
}

}  // namespace
}  // namespace lacuna::test
