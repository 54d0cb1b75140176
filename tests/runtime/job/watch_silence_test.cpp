#include <gtest/gtest.h>

#include "tests/runtime/job/watch_job.hpp"

/// These tests move the clocks of the watches. A rank whose clock stands still sends no beats, as if it were stopped,
/// or as if its link to rank 0 were cut.
namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds silence = 10s;
constexpr std::chrono::milliseconds period = silence / 4;  // a rank sends two beats in it
constexpr std::chrono::milliseconds moment = 1ms;

/// Several ranks whose clocks stand at the same time.
class Silence : public testing::Test {
 protected:
  void expect(std::size_t rank, const std::string& verdict) {
    EXPECT_EQ(job_.clients[rank].verdict(), "peer failed: " + verdict) << "on rank " << rank;
  }
  void expect_none() {
    for (WatchedProcess& client : job_.clients) EXPECT_EQ(client.verdict(0ms), "(none)");
  }

  Local job_{4, {}, silence, Time::ByHand};
};

TEST_F(Silence, ARankIsGivenTheWholeTimeAndNotMuchMore) {
  for (const auto since_the_beat : {0ms, 500ms, 1000ms}) {
    Local job(2, {}, silence, Time::ByHand);
    job.pass(since_the_beat, {0, 1});
    job.pass(silence, {0});
    EXPECT_EQ(job.clients[0].verdict(0ms), "(none)");
    job.pass(period + moment, {0});
    EXPECT_EQ(job.clients[0].verdict(),
              "peer failed: rank 1 (host h1) does not answer rank 0 for 10 s (stopped, or cut off?)");
  }
}

TEST_F(Silence, AShortOneIsForgiven) {
  for (const std::size_t rank : {0u, 1u}) {
    std::vector<std::size_t> others = {0, 1, 2, 3};
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(rank));
    job_.pass(silence, others);
    job_.leap(silence, {rank});
  }
  job_.pass(3 * silence, {0, 1, 2, 3});
  expect_none();
}

TEST_F(Silence, ARankThatWasSuspendedBlamesNobodyForIt) {
  job_.leap(2 * silence, {1, 2, 3});
  job_.leap(3 * silence, {0});
  job_.pass(3 * silence, {0, 1, 2, 3});
  expect_none();
}

TEST_F(Silence, OfSeveralRanksThatRankZeroDoesNotHearAllAreNamed) {
  job_.pass(silence + period + moment, {0, 1});
  for (std::size_t rank : {0, 1}) {
    expect(rank, "ranks 2, 3 (hosts h2, h3) do not answer rank 0 for 10 s (stopped, or cut off?)");
  }
}

TEST_F(Silence, RankZeroNamesItselfIfItHearsNobody) {
  job_.pass(silence + period + moment, {0});
  expect(0, "none of ranks 1-3 answers rank 0 (host h0) for 10 s (is it cut off?)");
}

// The link is cut until rank 2 has lost patience, and rank 0 has not. Then it serves again.
TEST_F(Silence, ACutThatIsOverWhenItIsToldIsNamedByItsPair) {
  job_.pass(silence + period + moment, {2});
  expect(2, "rank 0 (host h0) does not answer rank 2 for 10 s (stopped, or cut off?)");
  for (std::size_t rank : {0, 1, 3}) {
    expect(rank,
           "nothing that was sent from rank 0 (host h0) to rank 2 (host h2) has arrived for 10 s, though both answer "
           "(was the network between them cut?)");
  }
}

TEST(NoSilence, IsTooLongIfNobodyMindsIt) {
  Local job(2, {}, never, Time::ByHand);
  for (std::size_t rank : {0, 1}) {
    for (int round = 0; round < 100; ++round) job.leap(50s, {rank});
    EXPECT_EQ(job.clients[rank].verdict(0ms), "(none)");
  }
  job.watches[1].reset();
  EXPECT_EQ(job.clients[0].verdict(), "peer failed: rank 1 (host h1) died: its connection ended without a goodbye");
}

}  // namespace
}  // namespace lacuna::runtime
