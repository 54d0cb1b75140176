#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "runtime/job/watch.hpp"
#include "tests/runtime/job/watch_job.hpp"

namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;
using test::Process;

constexpr std::chrono::milliseconds silence = 2s;

/// Each rank is a process, which says "ready" and then its verdict. One of them may report an expired call. Then a rank
/// may be silent for longer, so that this does not end the job first.
class Processes {
 public:
  explicit Processes(Rank size, Rank reporter = -1) {
    for (Rank rank = 0; rank < size; ++rank) {
      ranks_.emplace_back([=, this](const Process::Say& say) {
        WatchedProcess client;
        Membership membership = enter(rank, size, port_.store(), reporter < 0 ? silence : 10s);
        const auto watch = *Watch::start(membership, client, {.gather = 1s, .fallback = 2s});
        say("ready");
        if (rank == reporter) {
          std::this_thread::sleep_for(1s);  // until then the test has stopped another rank
          watch->report(trouble(Trouble::Kind::Expired, 8, "barrier"));
        }
        say(client.verdict());
        watch->leave({});
      });
    }
    for (Process& rank : ranks_) EXPECT_EQ(rank.line(), "ready");
  }
  Process& operator[](std::size_t rank) { return ranks_[rank]; }

 private:
  test::ReservedPort port_;
  std::vector<Process> ranks_;
};

TEST(WatchOfProcesses, AKilledRankIsNamedOnAllSurvivors) {
  Processes job(4);
  job[2].signal(SIGKILL);
  for (std::size_t rank : {0, 1, 3}) {
    EXPECT_EQ(job[rank].line(), "peer failed: rank 2 (host h2) died: its connection ended without a goodbye");
  }
}

/// A process whose watch finds no memory when it is asked something.
class ShortOfMemory final : public WatchedProcess {
 public:
  std::optional<Posted> posted(std::uint64_t, std::uint32_t) override { throw std::bad_alloc(); }
};

TEST(WatchOfProcesses, WithoutMemoryTheWatchFailsTheJobAndEndsNoProcess) {
  const test::ReservedPort port;
  const auto rank = [&]<class Client>(Rank number, Client*) {
    return Process([&, number](const Process::Say& say) {
      Client client;
      Membership membership = enter(number, 2, port.store(), 60s);
      const auto watch = *Watch::start(membership, client);
      if (number == 0) watch->report(trouble(Trouble::Kind::Expired, 8, "barrier"));
      say(client.verdict(60s));
    });
  };
  Process first = rank(0, static_cast<WatchedProcess*>(nullptr)),
          second = rank(1, static_cast<ShortOfMemory*>(nullptr));
  EXPECT_EQ(second.line(), "internal error: rank 1: the watch has no memory");
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(first.line(), "peer failed: rank 1 (host h1) died: its connection ended without a goodbye");
}

TEST(WatchOfProcesses, AKilledRankZeroIsNamedOnAllSurvivors) {
  Processes job(3);
  job[0].signal(SIGKILL);
  for (std::size_t rank : {1, 2}) {
    EXPECT_EQ(job[rank].line(), "peer failed: rank 0 (host h0) died: its connection ended without a goodbye");
  }
}

TEST(WatchOfProcesses, AStoppedRankIsNamedOnAllRanksAndOnItselfWhenItWakes) {
  Processes job(4);
  job[2].signal(SIGSTOP);
  const std::string verdict = "peer failed: rank 2 (host h2) does not answer rank 0 for 2 s (stopped, or cut off?)";
  for (std::size_t rank : {0, 1, 3}) EXPECT_EQ(job[rank].line(), verdict);
  job[2].signal(SIGCONT);
  EXPECT_EQ(job[2].line(), verdict);
}

TEST(WatchOfProcesses, AStoppedRankZeroIsNamedOnAllRanksAndOnItselfWhenItWakes) {
  Processes job(3);
  job[0].signal(SIGSTOP);
  std::vector<std::string> verdicts;
  for (std::size_t rank : {1, 2}) {
    verdicts.push_back("peer failed: rank 0 (host h0) does not answer rank " + std::to_string(rank) +
                       " for 2 s (stopped, or cut off?)");
    EXPECT_EQ(job[rank].line(), verdicts.back());
  }
  job[0].signal(SIGCONT);
  const std::string heard = job[0].line();
  EXPECT_TRUE(heard == verdicts[0] || heard == verdicts[1]) << heard;
}

TEST(WatchOfProcesses, AnExpiredCallIsDecidedLocallyWhenRankZeroIsStopped) {
  Processes job(3, 1);
  job[0].signal(SIGSTOP);
  EXPECT_EQ(job[1].line(),
            "timed out: call 8 ran out of time: barrier; rank 0 (host h0) did not answer when asked who is late");
}

TEST(WatchOfProcesses, AnExpiredCallNamesTheRankThatDoesNotAnswer) {
  Processes job(4, 1);
  job[3].signal(SIGSTOP);
  for (std::size_t rank : {0, 2}) {
    EXPECT_EQ(
        job[rank].line(),
        "timed out: call 8 ran out of time on rank 1: barrier; ranks 0-2 have not posted it; rank 3 did not answer");
  }
}

TEST(WatchOfThreads, NoConnectionIsInheritedByProgramsThatARankExecutes) {
  const auto sockets = [] {
    const std::string command = "ls -l /proc/self/fd | grep -c socket";
    FILE* pipe = ::popen(command.c_str(), "r");
    char text[16] = {};
    EXPECT_NE(std::fgets(text, sizeof(text), pipe), nullptr);
    ::pclose(pipe);
    return std::atoi(text);
  };
  const int before = sockets();
  const Local job(3);
  EXPECT_EQ(sockets(), before);
}

}  // namespace
}  // namespace lacuna::runtime
