#include <gtest/gtest.h>

#include "tests/processes/executed.hpp"
#include "tests/processes/gate.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;

struct Network {
  std::string name;
  Environment environment;
};

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

class EventLoops : public testing::TestWithParam<Network> {
 protected:
  static Job job(const std::vector<std::vector<std::string>>& actions, Environment environment = {}) {
    std::vector<std::vector<std::string>> commands;
    for (const auto& mine : actions) {
      commands.push_back({LACUNA_WORKER, "size=" + std::to_string(actions.size())});
      commands.back().insert(commands.back().end(), mine.begin(), mine.end());
    }
    environment.insert(GetParam().environment.begin(), GetParam().environment.end());
    return Job(commands, environment);
  }
};

TEST_P(EventLoops, ACallThatARankNeverPostsEndsAtItsDeadlineWithThatRanksName) {
  const Gate gate;  // so that ranks 0 and 1 post at the same time
  const std::vector<std::string> posts = {gate.action(), "loop=allreduce,f32,sum,50000"};
  Job ranks = job({posts, posts, {"poisoned=60000"}}, {{"LACUNA_DEADLINE", "2"}});
  for (std::size_t rank : {0, 1}) ASSERT_TRUE(ranks[rank].says("at the gate", 60s)) << ranks[rank].output();
  gate.open();
  for (std::size_t rank : {0, 1}) {
    EXPECT_TRUE(ranks[rank].says("call: timed out: call 1 ran out of time", 30s)) << ranks[rank].output();
    EXPECT_TRUE(ranks[rank].says("; rank 2 has not posted it")) << ranks[rank].output();
  }
}

TEST_P(EventLoops, MessagesToOneselfThatAnotherThreadPostsAreServed) {
  Job ranks = job({{"talk"}, {"talk"}}, {{"LACUNA_EAGER", "4K"}});
  for (std::size_t rank : {0, 1}) {
    EXPECT_EQ(ranks[rank].wait(), 0) << ranks[rank].output();
    EXPECT_TRUE(ranks[rank].says("talk: ok")) << ranks[rank].output();
  }
}

TEST_P(EventLoops, TenThousandPostsOfTwoOtherThreadsAreServed) {
  Job ranks = job({{"posts=5000"}, {"posts=5000"}});
  for (std::size_t rank : {0, 1}) {
    EXPECT_EQ(ranks[rank].wait(), 0) << ranks[rank].output();
    EXPECT_TRUE(ranks[rank].says("posts: ok")) << ranks[rank].output();
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, EventLoops,
                         testing::Values(Network{"SharedMemory", {}}, Network{"Tcp", {{"UCX_TLS", "tcp,self"}}}),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace lacuna::test
