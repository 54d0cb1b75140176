#include <gtest/gtest.h>

#include <atomic>

#include "algorithms/skip/skip.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna {
namespace {

using test::local;
using test::on_each;

const CallCounters& calls_of(const CommunicatorCounters& communicator, Collective collective) {
  return communicator.calls[static_cast<std::size_t>(collective)];
}

/// Returns the counters of calls that skip; zeros if there were none.
MethodCounters skips_of(const std::vector<MethodCounters>& methods) {
  MethodCounters counted{.method = &skip_method};
  for (const MethodCounters& one : methods) {
    EXPECT_EQ(one.method, &skip_method);
    counted += one;
  }
  return counted;
}

Status allreduce(Communicator& rank, std::size_t count) {
  std::vector<float> values(count, 1.0f);
  return rank.call(lacuna::allreduce<float>(values, values, Reduction::Sum, {.algorithm = "ring"}));
}

TEST(JobCounters, CallsAreCountedByCommunicatorAndCollective) {
  auto ranks = local(3, Progress::Thread);
  std::vector<JobCounters> counted(3);
  on_each(ranks, [&](Communicator& rank) {
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(allreduce(rank, 10));
    const float out = 1;
    float in = 0;
    const std::span<float> to(&in, 1);
    if (rank.rank() == 0) {
      EXPECT_TRUE(rank.send<float>(std::span(&out, 1), 2));
    } else if (rank.rank() == 2) {
      EXPECT_TRUE(rank.receive<float>(to, 0));
    }
    auto pair = rank.split(rank.rank() < 2 ? 0 : Communicator::no_group);
    if (*pair) {
      EXPECT_TRUE((*pair)->call(barrier()));
    }
    counted[static_cast<std::size_t>(rank.rank())] = rank.job_counters();
  });
  for (Rank rank = 0; rank < 3; ++rank) {
    const JobCounters& all = counted[static_cast<std::size_t>(rank)];
    EXPECT_EQ(all.rank, rank);
    EXPECT_EQ(all.size, 3);
    ASSERT_EQ(all.communicators.size(), rank < 2 ? 2u : 1u);
    const CommunicatorCounters& world = all.communicators[0];
    EXPECT_EQ(world.size, 3);
    EXPECT_EQ(calls_of(world, Collective::Allreduce).started, 5u);
    EXPECT_EQ(calls_of(world, Collective::Allreduce).completed, 5u);
    EXPECT_EQ(calls_of(world, Collective::Allreduce).failed, 0u);
    EXPECT_GT(calls_of(world, Collective::Allreduce).seconds, 0);
    EXPECT_EQ(world.sends.completed, rank == 0 ? 1u : 0u);
    EXPECT_EQ(world.receives.completed, rank == 2 ? 1u : 0u);
    EXPECT_EQ(calls_of(world, Collective::Broadcast).started, 0u);
    EXPECT_EQ(calls_of(world, Collective::Allgather).completed, 3u)
        << "of split: choices, offered boards, who sees them";
    EXPECT_EQ(calls_of(world, Collective::Barrier).completed, 1u) << "of split";
    if (rank < 2) {
      EXPECT_EQ(calls_of(all.communicators[1], Collective::Barrier).completed, 1u);
    }
  }
}

TEST(JobCounters, TrafficIsTheTransports) {
  auto ranks = local(2, Progress::Thread);
  on_each(ranks, [](Communicator& rank) { EXPECT_TRUE(allreduce(rank, 1000)); });
  const JobCounters all = ranks[0].job_counters();
  ASSERT_EQ(all.peers.size(), 2u);
  EXPECT_EQ(all.peers[1].payload_sent, 4000u);  // each rank of a ring of two sends half of it twice
  EXPECT_EQ(all.peers[1].payload_received, 4000u);
  EXPECT_EQ(all.peers[0].messages_sent, 0u);
}

TEST(JobCounters, WaitingIsCountedAndEndedCommunicatorsAreKept) {
  using Seconds = std::chrono::duration<double>;
  auto ranks = local(2, Progress::Thread);
  std::chrono::steady_clock::time_point comes[2];  // to the barrier
  double waited = 0, taken = 0;                    // by rank 0 in the barrier
  on_each(ranks, [&](Communicator& rank) {
    for (int i = 0; i < 80; ++i) {
      auto part = rank.split(0);
      ASSERT_TRUE(part);
      EXPECT_TRUE(allreduce(**part, 1));
    }
    const double before = rank.job_counters().wait_seconds;
    if (rank.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto begin = comes[rank.rank()] = std::chrono::steady_clock::now();
    EXPECT_TRUE(rank.call(barrier()));
    if (rank.rank() == 1) return;
    taken = Seconds(std::chrono::steady_clock::now() - begin).count();
    waited = rank.job_counters().wait_seconds - before;
  });
  EXPECT_GE(waited, Seconds(comes[1] - comes[0]).count() - 0.02);
  EXPECT_LE(waited, taken + 0.001);
  const JobCounters all = ranks[0].job_counters();
  EXPECT_EQ(all.communicators.size(), 65u) << "what is kept is bounded";
  EXPECT_EQ(all.communicators[0].rank, -1);
  std::uint64_t completed = 0;
  for (const CommunicatorCounters& one : all.communicators) completed += calls_of(one, Collective::Allreduce).completed;
  EXPECT_EQ(completed, 80u);
}

/// Returns what rank 0 counts that computes, and then waits for rank 1. It computes for so long that the wait is short
/// beside it also on a busy host.
JobCounters after_computing(Progress progress, bool starts_first) {
  constexpr std::chrono::milliseconds computing{300}, late{50};
  std::atomic<bool> has_computed = false;
  auto ranks = local(2, progress);
  on_each(ranks, [&](Communicator& rank) {
    std::optional<CallRequest> request;
    if (rank.rank() == 0) {
      if (starts_first) request = *rank.start(barrier());
      std::this_thread::sleep_for(computing);
      has_computed = true;
      has_computed.notify_one();
    } else {
      has_computed.wait(false);
      std::this_thread::sleep_for(late);
    }
    if (!request) request = *rank.start(barrier());
    EXPECT_TRUE(request->wait());
  });
  return ranks[0].job_counters();
}

TEST(JobCounters, WaitingThatAThreadMightHaveSavedIsThatBehindWorkInFlight) {
  const JobCounters started = after_computing(Progress::Caller, true);
  EXPECT_GE(started.overlappable_seconds, started.wait_seconds / 2);
  EXPECT_LE(started.overlappable_seconds, started.wait_seconds);
  const JobCounters blocking = after_computing(Progress::Caller, false);
  EXPECT_GT(blocking.wait_seconds, 0.01);
  EXPECT_LT(blocking.overlappable_seconds, blocking.wait_seconds / 2);
  EXPECT_EQ(after_computing(Progress::Thread, true).overlappable_seconds, 0);
}

TEST(JobCounters, FailedCallsAndStallsAreCounted) {
  const test::Variable deadline("LACUNA_DEADLINE", "0.5"), stall("LACUNA_STALL", "0.05");
  auto ranks = local(2, Progress::Thread);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ranks[0].call(barrier()).code(), Code::TimedOut);
  const JobCounters all = ranks[0].job_counters();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GE(calls_of(all.communicators[0], Collective::Barrier).seconds, 0.45);
  EXPECT_LE(calls_of(all.communicators[0], Collective::Barrier).seconds, seconds);
  EXPECT_LE(static_cast<double>(all.stalls), seconds / 0.05);
  EXPECT_EQ(calls_of(all.communicators[0], Collective::Barrier).started, 1u);
  EXPECT_EQ(calls_of(all.communicators[0], Collective::Barrier).completed, 0u);
  EXPECT_EQ(calls_of(all.communicators[0], Collective::Barrier).failed, 1u);
  EXPECT_GE(all.stalls, 1u);
}

TEST(JobCounters, MessagesThatComeEarlyAreParked) {
  auto ranks = local(2, Progress::Caller);
  std::vector<float> a(100, 1.0f), b(100, 1.0f);
  auto first = ranks[0].start(lacuna::allreduce<float>(a, a, Reduction::Sum, {.algorithm = "ring"}));
  while (ranks[0].progress() || ranks[1].progress()) continue;
  EXPECT_EQ(ranks[1].job_counters().waiting_messages, 1u);
  auto second = ranks[1].start(lacuna::allreduce<float>(b, b, Reduction::Sum, {.algorithm = "ring"}));
  std::vector<Request> both;
  both.push_back(std::move(*first));
  both.push_back(std::move(*second));
  test::finish(both);
  EXPECT_EQ(ranks[1].job_counters().parked_messages, 1u);
  EXPECT_EQ(ranks[1].job_counters().parked_bytes, 200u);
  EXPECT_EQ(ranks[1].job_counters().waiting_messages, 0u);
  EXPECT_EQ(ranks[0].job_counters().descriptor_messages, 0u);
}

TEST(JobCounters, CallsThatSkipAreCountedWithWhatTheySaved) {
  constexpr std::size_t count = 1003;
  for (const char* algorithm : {"skip_ring", "skip_halving_doubling", "skip_double_tree", "skip_torus"}) {
    for (Rank size : {2, 3, 5, 8}) {
      auto ranks = local(size, Progress::Thread);
      const auto payload_of = [&](Communicator& rank, int steps) {
        std::vector<float> values(count, 1.0f);
        Call call{.collective = Collective::Allreduce, .input = values.data(), .output = values.data(), .count = count};
        call.options.algorithm = algorithm;
        test::skip_in(call)->steps = steps;
        const std::uint64_t before = rank.counters().payload_sent;
        EXPECT_TRUE(rank.call(call));
        EXPECT_TRUE(rank.call(barrier()));
        return rank.counters().payload_sent - before;
      };
      std::uint64_t left_out = 0;
      on_each(ranks, [&](Communicator& rank) {
        const std::uint64_t dense = payload_of(rank, 0);
        EXPECT_EQ(skips_of(rank.job_counters().methods()).calls, 0u) << "a dense call";
        EXPECT_EQ(skips_of(rank.job_counters().methods()).dense_sent, 0u) << "a dense call";
        const std::uint64_t once = payload_of(rank, 1);
        const std::uint64_t twice = payload_of(rank, 1);
        EXPECT_EQ(rank.job_counters().methods().size(), 1u);
        const MethodCounters counted = skips_of(rank.job_counters().communicators[0].methods);
        EXPECT_EQ(counted.calls, 2u);
        EXPECT_GE(counted.rounds_saved, 2u) << "more where a rank beyond a power of two waits less";
        EXPECT_EQ(counted.sent, once + twice);
        EXPECT_EQ(counted.dense_sent, 2 * dense);
        EXPECT_EQ(static_cast<std::int64_t>(2 * dense) - counted.bytes_saved(),
                  static_cast<std::int64_t>(once + twice));
        EXPECT_EQ(counted.contributions, 2 * count * static_cast<std::uint64_t>(size));
        EXPECT_EQ(counted.measures.value(skip_measure::steps), 2) << "S, added up";
        if (rank.rank() == 0) left_out = counted.left_out;
      });
      if (std::string(algorithm) == "skip_ring") {
        EXPECT_EQ(left_out, 2 * count);
      } else {
        EXPECT_GE(left_out, 2 * count);
      }
    }
  }
}

TEST(JobCounters, ARequestTellsWhatItsCallHasLeftOut) {
  auto ranks = local(4, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    std::vector<float> values(100, 1.0f);
    Options options{.algorithm = "skip_ring"};
    test::skip_in(options)->steps = 2;
    auto request = rank.prepare(lacuna::allreduce<float>(values, values, Reduction::Sum, options));
    ASSERT_TRUE(request);
    EXPECT_TRUE(request->report().parts.empty()) << "not started yet";
    EXPECT_TRUE(request->start());
    EXPECT_TRUE(request->wait());
    const Report report = request->report();
    EXPECT_EQ(report.method, &skip_method);
    EXPECT_EQ(test::steps_of(report), 2);
    EXPECT_EQ(report.measures.value(skip_measure::audits), 0);
    EXPECT_EQ(report.rounds_saved(), 2);
    EXPECT_EQ(report.bytes_saved(), 200);
    EXPECT_EQ(report.left_out(), 0.5);
    const int skipped = static_cast<int>(SkipOutcome::Skipped);
    EXPECT_EQ(report.parts,
              (std::vector<PartReport>{{.offset = 0, .count = 100, .outcome = skipped, .fewest = 2, .mean = 2}}));
    EXPECT_TRUE(CallRequest().report().parts.empty());
    EXPECT_EQ(CallRequest().report().method, nullptr);
    request = PreparedCall();  // the next call takes its memory
    auto next = rank.prepare(lacuna::allreduce<float>(values, values, Reduction::Sum, options));
    EXPECT_TRUE(next->report().parts.empty()) << "not started yet";
    next = PreparedCall();
    auto dense = rank.start(lacuna::allreduce<float>(values, values, Reduction::Sum, {.algorithm = "ring"}));
    EXPECT_TRUE(dense->wait());
    EXPECT_TRUE(dense->report().parts.empty());
    EXPECT_EQ(dense->report().method, nullptr);
  });
}

}  // namespace
}  // namespace lacuna
