#include <fmt/format.h>
#include <gtest/gtest.h>

#include "algorithms/registry/registry.hpp"
#include "tests/processes/executed.hpp"

namespace lacuna::test {
namespace {

/// How the ranks reach each other, and who makes progress.
struct Mode {
  std::string name;
  Environment environment;
};

const Mode modes[] = {
    {"SharedMemory", {}},
    {"SharedMemoryThread", {{"LACUNA_PROGRESS", "thread"}}},
    {"SharedMemoryRendezvous", {{"LACUNA_EAGER", "0"}}},
    {"SharedMemoryMapped", {{"LACUNA_MAPPED", "1"}}},
    {"Tcp", {{"UCX_TLS", "tcp,self"}}},
    {"TcpThreadRendezvous", {{"UCX_TLS", "tcp,self"}, {"LACUNA_PROGRESS", "thread"}, {"LACUNA_EAGER", "0"}}},
    {"TcpRendezvous", {{"UCX_TLS", "tcp,self"}, {"LACUNA_EAGER", "0"}}},
};

Job conformance(std::size_t size, Environment environment, const std::vector<std::string>& actions = {"conformance"}) {
  environment.insert({{"LACUNA_CHUNK", "32K"}, {"LACUNA_DEADLINE", "200"}});
  if (!environment.contains("LACUNA_MAPPED")) environment["LACUNA_MAPPABLE"] = "0";
  std::vector<std::string> command = {LACUNA_WORKER, "size=" + std::to_string(size)};
  command.insert(command.end(), actions.begin(), actions.end());
  return Job({size, command}, environment);
}

class OverUcx : public testing::TestWithParam<std::tuple<int, Mode>> {};

TEST_P(OverUcx, EveryAlgorithmGivesTheExactResult) {
  const auto& [size, mode] = GetParam();
  Job job = conformance(static_cast<std::size_t>(size), mode.environment);
  for (std::size_t rank = 0; rank < job.size(); ++rank) {
    EXPECT_EQ(job[rank].wait(), 0) << "rank " << rank << ":\n" << job[rank].output();
    const std::string output = job[rank].output();
    EXPECT_NE(output.find("size " + std::to_string(size) + ": right"), std::string::npos) << output;
    EXPECT_NE(output.find("conformance: ok"), std::string::npos) << output;
    for (const Algorithm* algorithm : all_algorithms()) {
      const std::string name = std::string(to_string(algorithm->collective)) + " " + std::string(algorithm->name);
      EXPECT_NE(output.find(name + ": "), std::string::npos) << name << " is missing in\n" << output;
    }
    for (const Method* method : all_methods()) {
      for (const MethodAlgorithm& one : method->algorithms) {
        const std::string name = fmt::format("{} {}: ", to_string(one.algorithm->collective), one.name);
        EXPECT_NE(output.find(name), std::string::npos) << name << " is missing in\n" << output;
      }
    }
    EXPECT_EQ(output.find(": 0 cases"), std::string::npos) << output;
  }
}

TEST_P(OverUcx, ExchangesAndMessagesGiveTheRightNumbers) {
  const auto& [size, mode] = GetParam();
  Job job = conformance(static_cast<std::size_t>(size), mode.environment, {"exchange=8"});
  for (std::size_t rank = 0; rank < job.size(); ++rank) {
    EXPECT_EQ(job[rank].wait(), 0) << "rank " << rank << ":\n" << job[rank].output();
    EXPECT_TRUE(job[rank].says("exchange: ok")) << job[rank].output();
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, OverUcx, testing::Combine(testing::Values(2, 3, 4, 5), testing::ValuesIn(modes)),
                         [](const auto& given) {
                           return std::get<1>(given.param).name + "P" + std::to_string(std::get<0>(given.param));
                         });

class GroupsOverUcx : public testing::TestWithParam<Mode> {};

TEST_P(GroupsOverUcx, TwoGroupsGiveTheExactResultsBesideEachOther) {
  Job job = conformance(5, GetParam().environment, {"split=2", "conformance"});
  for (std::size_t rank = 0; rank < job.size(); ++rank) {
    EXPECT_EQ(job[rank].wait(), 0) << "rank " << rank << ":\n" << job[rank].output();
    EXPECT_TRUE(job[rank].says("conformance: ok")) << job[rank].output();
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, GroupsOverUcx, testing::Values(modes[0], modes[4]),
                         [](const auto& given) { return given.param.name; });

class StormOverUcx : public testing::TestWithParam<std::pair<Mode, int>> {};

TEST_P(StormOverUcx, CallsAndMessagesOnOverlappingCommunicatorsInOrdersOfEachRanksOwnGiveTheExactResults) {
  Job job = conformance(8, GetParam().first.environment, {fmt::format("storm={}", GetParam().second)});
  for (std::size_t rank = 0; rank < job.size(); ++rank) {
    EXPECT_EQ(job[rank].wait(), 0) << "rank " << rank << ":\n" << job[rank].output();
    EXPECT_TRUE(job[rank].says("storm: ok")) << job[rank].output();
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, StormOverUcx,
                         testing::Values(std::pair(modes[0], 10'000), std::pair(modes[2], 2'000),
                                         std::pair(modes[3], 2'000)),
                         [](const auto& given) { return given.param.first.name; });

/// Starts ranks that say that they are on their hosts, then carry out the actions.
Job spread(const std::string& hosts, const std::vector<std::string>& actions) {
  std::vector<std::vector<std::string>> commands;
  for (char host : hosts) {
    commands.push_back({"/usr/bin/env", std::string("LACUNA_HOST=") + host, LACUNA_WORKER});
    commands.back().push_back("size=" + std::to_string(hosts.size()));
    commands.back().insert(commands.back().end(), actions.begin(), actions.end());
  }
  return Job(commands, {{"LACUNA_CHUNK", "32K"}, {"LACUNA_DEADLINE", "200"}});
}

class HostsOverUcx : public testing::TestWithParam<std::string> {};

TEST_P(HostsOverUcx, EveryAlgorithmGivesTheExactResultWhereverTheRanksAre) {
  Job job = spread(GetParam(), {"conformance"});
  for (std::size_t rank = 0; rank < job.size(); ++rank) {
    EXPECT_EQ(job[rank].wait(), 0) << "rank " << rank << ":\n" << job[rank].output();
    EXPECT_TRUE(job[rank].says("conformance: ok")) << job[rank].output();
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, HostsOverUcx, testing::Values("abab", "abbac"),
                         [](const auto& given) { return given.param; });

void expect_lines(Job& job, const std::vector<std::string>& lines) {
  for (std::size_t rank = 0; rank < job.size(); ++rank) {
    EXPECT_EQ(job[rank].wait(), 0) << job[rank].output();
    EXPECT_TRUE(job[rank].says(lines[rank] + "\n")) << "rank " << rank << ":\n" << job[rank].output();
  }
}

TEST(HostsOfProcesses, ReachTheAlgorithm) {
  Job job = spread("abab", {"peers=allreduce,f32,sum,1000,0,two_level"});
  expect_lines(job, {"peers: 1 2", "peers: 0 3", "peers: 0 3", "peers: 1 2"});
}

TEST(HostsOfProcesses, ReachTheAlgorithmOfAGroupInItsOrder) {
  Job job = spread("baaa", {"split=1", "peers=allreduce,f32,sum,1000,0,two_level"});  // the group's hosts are a a a b
  expect_lines(job, {"peers: 0", "peers: 0", "peers: 0", "peers: 1 2 3"});
}

TEST(OverUcxCheck, AFlippedBitOfAResultIsNoticed) {
  Job job = conformance(2, {}, {"conformance=corrupt"});
  for (std::size_t rank = 0; rank < job.size(); ++rank) {
    EXPECT_EQ(job[rank].wait(), 1) << job[rank].output();
    EXPECT_TRUE(job[rank].says("1 wrong elements")) << job[rank].output();
  }
}

}  // namespace
}  // namespace lacuna::test
