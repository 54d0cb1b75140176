#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "algorithms/skip/skip.hpp"
#include "bindings/cli/perf/data.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

class Prepared : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, Prepared, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

/// A collective of this rank with memory of its own.
struct Held {
  Held(Collective collective, const Communicator& rank) {
    call = {.collective = collective, .count = moves_data(collective) ? 700u : 0u, .root = 1};
    cli::give_tables(call, rank.rank(), rank.size(), counts);
    input.resize(4 * input_length(call, rank.size()));
    output.resize(4 * output_length(call, rank.size()));
    call.input = input.data();
    call.output = output.data();
    cli::fill_input(call, rank.rank(), input);
  }

  Call call;
  std::vector<std::size_t> counts;
  std::vector<std::byte> input, output;
  PreparedCall prepared;
};

TEST_P(Prepared, EveryCollectiveGivesItsResultAtEveryStart) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    std::vector<std::unique_ptr<Held>> all;
    for (Collective collective : all_collectives) {
      all.push_back(std::make_unique<Held>(collective, rank));
      auto request = rank.prepare(all.back()->call);
      ASSERT_TRUE(request) << request.status().to_string();
      EXPECT_TRUE(request->test());
      EXPECT_TRUE(request->wait());
      all.back()->prepared = *std::move(request);
    }
    for (int start = 0; start < 5; ++start) {
      for (auto& one : all) std::fill(one->output.begin(), one->output.end(), std::byte{0xff});
      for (auto& one : all) ASSERT_EQ(one->prepared.start().to_string(), "ok");
      for (auto& one : all) ASSERT_EQ(one->prepared.wait().to_string(), "ok");
      for (auto& one : all) {
        const cli::PerfResult result{one->call, {}, rank.rank(), rank.size(), 256 << 10};
        ASSERT_EQ(cli::count_wrong(result, one->output), 0u) << to_string(one->call.collective) << " start " << start;
      }
    }
  });
}

TEST_P(Prepared, AThousandStartsAmongOtherCallsGiveTheBitsOfEach) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const auto me = static_cast<std::size_t>(rank.rank());
    const std::vector<std::size_t> lengths = {0, 1, 2};
    Floats data(100), sum(100), other(50);
    Ints mine(me), all(3);
    auto reduces = rank.prepare(allreduce<float>(data, sum));
    auto gathers = rank.prepare(allgatherv<std::int32_t>(mine, all, {.counts = lengths}));
    ASSERT_TRUE(reduces && gathers);
    for (int start = 0; start < 1000; ++start) {
      std::fill(data.begin(), data.end(), static_cast<float>(start + rank.rank()));
      std::fill(mine.begin(), mine.end(), start + rank.rank());
      std::fill(other.begin(), other.end(), 1.f);
      ASSERT_TRUE(reduces->start());
      auto between = rank.start(allreduce<float>(other, other));
      ASSERT_TRUE(gathers->start());
      ASSERT_TRUE(start % 100 != 0 || rank.call(barrier()));
      ASSERT_EQ(gathers->wait().to_string(), "ok");
      ASSERT_EQ(reduces->wait().to_string(), "ok");
      ASSERT_TRUE(between && between->wait());
      ASSERT_EQ(sum, Floats(100, static_cast<float>(3 * start + 3)));
      ASSERT_EQ(all, (Ints{start + 1, start + 2, start + 2}));
      ASSERT_EQ(other, Floats(50, 3));
    }
  });
}

TEST_P(Prepared, SkipRingDrawsAtEveryStartAsSeparateCallsDo) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    Floats data(3000), once(3000), again(3000), first;
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(rank.rank()) * 13) % 31);
    }
    Sampler one{.seed = 5, .key = 6, .draw = 7}, other = one;
    const auto options = [](Sampler& sampler) {
      return Options{.algorithm = "skip_ring",
                     .method = lacuna::skip({.steps = 1, .mode = SkipMode::Random}),
                     .sampler = &sampler};
    };
    auto prepared = rank.prepare(allreduce<float>(data, again, Reduction::Sum, options(other)));
    ASSERT_TRUE(prepared);
    EXPECT_EQ(other.draw, 7u);
    bool turned = false;
    for (std::uint64_t start = 1; start <= 20; ++start) {
      ASSERT_TRUE(rank.call(allreduce<float>(data, once, Reduction::Sum, options(one))));
      ASSERT_TRUE(prepared->start());
      ASSERT_TRUE(prepared->wait());
      ASSERT_EQ(once, again) << "start " << start;
      ASSERT_EQ(other.draw, 7 + start);
      if (first.empty()) first = once;
      turned = turned || once != first;
    }
    EXPECT_TRUE(turned);
  });
}

TEST_P(Prepared, OneRankMayStartWhatTheOthersCall) {
  auto ranks = local(2, GetParam());
  on_each(ranks, [](Communicator& rank) {
    Floats data(10, 1);
    auto prepared = rank.prepare(allreduce<float>(data, data));
    ASSERT_TRUE(prepared);
    if (rank.rank() == 0) {
      EXPECT_TRUE(prepared->start());
      EXPECT_TRUE(prepared->wait());
    } else {
      EXPECT_TRUE(rank.call(allreduce<float>(data, data)));
    }
    EXPECT_EQ(data, Floats(10, 2));
  });
}

TEST_P(Prepared, WhatRunsOrIsEmptyIsNotStarted) {
  auto ranks = local(2, GetParam());
  std::vector<Floats> data(2, Floats(10, 1));
  auto prepared = ranks[0].prepare(allreduce<float>(data[0], data[0]));
  ASSERT_TRUE(prepared);
  EXPECT_TRUE(prepared->start());
  expect_error(prepared->start(), Code::InvalidArgument, "call 0 (allreduce board f32 count 10 sum)");
  expect_error(prepared->start(), Code::InvalidArgument, "is still running");
  std::vector<Request> requests;
  requests.push_back(*std::move(prepared));
  requests.push_back(*ranks[1].start(allreduce<float>(data[1], data[1])));
  finish(requests);
  EXPECT_EQ(data[0], Floats(10, 2));
  expect_error(prepared->start(), Code::InvalidArgument, "an empty request");
  expect_error(ranks[0].prepare(broadcast<float>(data[0], 2)).status(), Code::InvalidArgument, "root is 2");
}

TEST_P(Prepared, AStartOfAPoisonedCommunicatorReturnsWhy) {
  auto ranks = local(2, GetParam());
  Floats data(10, 1);
  auto idle = ranks[0].prepare(barrier());
  auto request = ranks[0].prepare(allreduce<float>(data, data, Reduction::Sum, {.deadline = 100ms}));
  ASSERT_TRUE(idle && request);
  EXPECT_TRUE(request->start());
  expect_error(request->wait(), Code::TimedOut, "rank 1 has not posted it");
  expect_error(request->start(), Code::TimedOut, "rank 1 has not posted it");
  expect_error(idle->start(), Code::TimedOut, "rank 1 has not posted it");
  expect_error(ranks[0].prepare(barrier()).status(), Code::TimedOut, "rank 1 has not posted it");
}

TEST_P(Prepared, ABusyStartMayBeTriedAgain) {
  const test::Variable changed("LACUNA_MAX_RUNS", "2");
  auto ranks = local(2, GetParam());
  std::vector<Floats> data(6, Floats(10, 1));
  std::vector<PreparedCall> prepared;
  for (std::size_t i = 0; i < 3; ++i) prepared.push_back(*ranks[0].prepare(allreduce<float>(data[i], data[i])));
  EXPECT_TRUE(prepared[0].start());
  EXPECT_TRUE(prepared[1].start());
  expect_error(prepared[2].start(), Code::Busy, "at most 2");
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 2; ++i) requests.push_back(std::move(prepared[i]));
  for (std::size_t i = 3; i < 5; ++i) requests.push_back(*ranks[1].start(allreduce<float>(data[i], data[i])));
  finish(requests);
  EXPECT_TRUE(prepared[2].start());
  requests.push_back(std::move(prepared[2]));
  requests.push_back(*ranks[1].start(allreduce<float>(data[5], data[5])));
  finish(requests);
  for (const Floats& one : data) EXPECT_EQ(one, Floats(10, 2));
}

TEST_P(Prepared, KeepAliveLastsAsLongAsTheRequest) {
  auto ranks = local(1, GetParam());
  auto tensor = std::make_shared<Floats>(10, 1.f);
  const std::weak_ptr<Floats> seen = tensor;
  const std::span<float> data = *tensor;
  {
    auto request = ranks[0].prepare(allreduce<float>(data, data, Reduction::Sum, {.keep_alive = tensor}));
    tensor.reset();
    for (int start = 0; start < 3; ++start) {
      EXPECT_TRUE(request->start());
      EXPECT_TRUE(request->wait());
      EXPECT_FALSE(seen.expired());
    }
  }
  EXPECT_TRUE(seen.expired());
}

TEST_P(Prepared, EachStartIsNotified) {
  auto ranks = local(1, GetParam());
  auto request = ranks[0].prepare(barrier({.notify = 9}));
  for (int start = 0; start < 3; ++start) {
    EXPECT_FALSE(ranks[0].next_completion());
    EXPECT_TRUE(request->start());
    EXPECT_TRUE(request->wait());
    EXPECT_EQ(ranks[0].next_completion()->token, 9u);
  }
}

TEST_P(Prepared, DestroyingARunningOneWaitsForIt) {
  auto ranks = local(2, GetParam());
  Floats a(100000, 1), b(100000, 1);
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    EXPECT_TRUE(ranks[1].call(allreduce<float>(b, b)));
  });
  {
    auto request = ranks[0].prepare(allreduce<float>(a, a));
    EXPECT_TRUE(request->start());
  }
  EXPECT_EQ(a, Floats(100000, 2));
  later.join();
}

}  // namespace
}  // namespace lacuna
