#include <gtest/gtest.h>

#include <csignal>

#include "tests/processes/executed.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;

struct Network {
  std::string name;
  Environment environment;
};

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

using Forks = testing::TestWithParam<Network>;

TEST_P(Forks, AChildIsRefusedEveryCallAndChangesNothingForItsParentsJob) {
  const std::vector<std::string> command = {LACUNA_WORKER, "size=2", "child", "call=allreduce,f32,sum,100000"};
  Job ranks({command, command}, GetParam().environment);
  EXPECT_TRUE(ranks[0].says("child: done\nchild: exit 0\n", 60s)) << ranks[0].output();
  for (std::size_t rank : {0, 1}) {
    EXPECT_EQ(ranks[rank].wait(60s), 0) << ranks[rank].output();
    EXPECT_TRUE(ranks[rank].says("parent: ok\ncall: ok\n")) << ranks[rank].output();
  }
}

TEST_P(Forks, AParentThatDiesIsNamedAtOnceThoughItsChildLivesOn) {
  const std::vector<std::string> command = {LACUNA_WORKER, "size=2", "orphan", "stream=allreduce,f32,sum,1000"};
  Environment environment = GetParam().environment;
  environment["LACUNA_WATCH_TIMEOUT"] = "60";
  Job ranks({command, command}, environment);
  for (std::size_t rank : {0, 1}) ASSERT_TRUE(ranks[rank].says("streaming", 60s)) << ranks[rank].output();
  ranks[1].signal(SIGKILL);
  EXPECT_TRUE(ranks[0].says("rank 1 (host here) died: its connection ended without a goodbye", 20s))
      << ranks[0].output();
}

INSTANTIATE_TEST_SUITE_P(Processes, Forks,
                         testing::Values(Network{"SharedMemory", {}}, Network{"Tcp", {{"UCX_TLS", "tcp,self"}}},
                                         Network{"SharedMemoryThread", {{"LACUNA_PROGRESS", "thread"}}}),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace lacuna::test
