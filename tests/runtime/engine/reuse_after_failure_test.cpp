#include <gtest/gtest.h>

#include <memory>

#include "tests/support/calls.hpp"

namespace lacuna::test {
namespace {

/// Two ranks on a new communicator, over the same executors as the communicators before it.
struct Pair {
  Pair(Ranks& on, std::uint64_t id) : ranks(on) {
    for (Rank rank : {0, 1}) {
      communicators.push_back(std::make_unique<runtime::Communicator>(ranks.executor(rank), id));
    }
  }
  /// Makes an allreduce of so many ones and as many twos. Returns how it ends on each rank.
  std::vector<Status> reduce(std::size_t on_first, std::size_t on_second) {
    inputs = {std::vector<float>(on_first, 1), std::vector<float>(on_second, 2)};
    outputs = {std::vector<float>(on_first), std::vector<float>(on_second)};
    std::vector<runtime::Run*> runs;
    for (std::size_t rank : {0u, 1u}) {
      runs.push_back(&must_post(*communicators[rank], allreduce_call(inputs[rank], outputs[rank])));
    }
    EXPECT_TRUE(ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
    return {runs[0]->status, runs[1]->status};
  }
  /// Rank 0 sends messages that nobody receives.
  void send_for_nobody() {
    for (int tag : {1, 2, 65}) {
      ASSERT_TRUE(communicators[0]->post(
          Send{.data = letter.data(), .count = letter.size(), .dtype = Dtype::F32, .to = 1, .tag = tag}));
    }
    while (ranks.sweep()) continue;
  }

  Ranks& ranks;
  std::vector<float> letter = std::vector<float>(3000, 7);
  std::vector<std::vector<float>> inputs, outputs;
  std::vector<std::unique_ptr<runtime::Communicator>> communicators;
};

TEST(ReuseAfterFailure, WhatAFailedCommunicatorGivesBackServesTheNextOne) {
  for (const std::size_t eager_bytes : {std::size_t{0}, std::size_t{1} << 20}) {
    RanksOptions options{.network = {}, .executor = quick_executor()};
    options.executor.eager_bytes = eager_bytes;
    options.executor.chunk_bytes = 1024;
    Ranks ranks(2, options);
    for (std::uint64_t id = 100; id < 106; ++id) {
      Pair pair(ranks, id);
      for (int time = 0; time < 2; ++time) {
        for (const Status& status : pair.reduce(5000, 5000)) ASSERT_TRUE(status) << status.to_string();
        for (const auto& output : pair.outputs) ASSERT_EQ(output, std::vector<float>(5000, 3));
        if (time == 0) pair.send_for_nobody();
      }
      for (const Status& status : pair.reduce(5000, 6000)) ASSERT_EQ(status.code(), Code::Mismatch);
      while (ranks.sweep()) continue;
    }
    for (Rank rank : {0, 1}) EXPECT_EQ(ranks.executor(rank).job_counters().waiting_messages, 0u);
  }
}

}  // namespace
}  // namespace lacuna::test
