#include <gtest/gtest.h>

#include <csignal>

#include "tests/runtime/job/watch_job.hpp"

namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;
using test::Process;

constexpr std::chrono::milliseconds silence = 2s;

TEST(WatchSilence, AStoppedRankIsGivenTheWholeTimeAndNotMuchMore) {
  for (const auto since_the_beat : {0ms, 200ms, 450ms}) {
    const test::ReservedPort port;
    std::vector<Process> ranks;
    for (Rank rank : {0, 1}) {
      ranks.emplace_back([&, rank](const Process::Say& say) {
        WatchedProcess client;
        Membership membership = enter(rank, 2, port.store(), silence);
        const auto watch = *Watch::start(membership, client);
        say("ready");
        say(client.verdict());
      });
    }
    for (Process& rank : ranks) ASSERT_EQ(rank.line(), "ready");
    std::this_thread::sleep_for(since_the_beat);
    const auto begin = Clock::now();
    ranks[1].signal(SIGSTOP);
    EXPECT_EQ(ranks[0].line(), "peer failed: rank 1 (host h1) does not answer rank 0 for 2 s (stopped, or cut off?)");
    const auto silent = Clock::now() - begin;
    EXPECT_GE(silent, silence);
    EXPECT_LT(silent, 2 * silence);
  }
}

}  // namespace
}  // namespace lacuna::runtime
