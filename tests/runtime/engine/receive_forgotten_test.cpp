#include <gtest/gtest.h>

#include "tests/support/lone_rank.hpp"

// Ranks send messages for calls and communicators that this rank does not have, or no longer has.
namespace lacuna::test {
namespace {

using Floats = std::vector<float>;
using runtime::MessageHeader;

void expect_mismatch(const runtime::Communicator& communicator, const std::string& text) {
  const Status status = communicator.status();
  EXPECT_EQ(status.code(), Code::Mismatch) << status.to_string();
  EXPECT_NE(status.message().find(text), std::string::npos) << status.to_string();
}

TEST(ReceiveForgotten, AMessageOfARankThatIsNoMemberIsAViolation) {
  LoneRank rank(3);
  runtime::Communicator pair(rank.executor, 99, Group({0, 2}, 3));
  rank.arrive({.communicator = 99, .bytes = 64}, Floats(16), 0, 64);  // from rank 1
  expect_mismatch(pair, "which has a communicator without that rank");
  EXPECT_EQ(rank.executor.job_counters().parked_bytes, 0u);
  EXPECT_TRUE(rank.communicator.status());
}

TEST(ReceiveForgotten, AMessageOfACallThatNobodyRemembersIsAViolation) {
  runtime::ExecutorOptions options = quick_executor();
  options.max_runs = 4;
  for (const std::uint32_t calls : {4, 5}) {  // it is known what the last four calls were
    LoneRank rank(2, options);
    Floats data(16, 1);
    MessageHeader header;
    for (std::uint32_t number = 0; number < calls; ++number) {
      const runtime::Run& run = must_post(rank.communicator, broadcast_call(data, 0));
      if (number == 0) header = rank.header_of(0, 64);
      rank.progress();
      ASSERT_TRUE(run.finished);
    }
    rank.arrive(header, data, 0, 64);
    if (calls > options.max_runs) {
      expect_mismatch(rank.communicator, "which has ended that call long ago");
    } else {
      EXPECT_TRUE(rank.communicator.status()) << rank.communicator.status().to_string();
      EXPECT_EQ(rank.duplicates(), 1u);
    }
  }
}

TEST(ReceiveForgotten, AMessageTooFarAheadInItsStreamIsAViolation) {
  const auto furthest = static_cast<std::uint32_t>(runtime::furthest_call);
  for (const std::uint32_t number : {furthest, furthest + 1}) {
    LoneRank rank;
    rank.arrive(LoneRank::message(0, number, 64), Floats(16), 0, 64);
    if (number == furthest) {
      EXPECT_TRUE(rank.communicator.status()) << rank.communicator.status().to_string();
    } else {
      expect_mismatch(rank.communicator, "which has no room for what is 16777217 messages ahead");
    }
  }
}

TEST(ReceiveForgotten, AnEarlyMessageOfAnotherCallIsAMismatchAtOnceThoughItsPartHasNotBegun) {
  runtime::ExecutorOptions options = quick_executor();
  options.chunk_bytes = 128;
  options.parts_in_flight = 1;
  LoneRank rank(2, options);
  rank.arrive({.communicator = LoneRank::id, .bytes = 64, .digest = 1, .part = 1}, Floats(16), 0, 64);
  const Floats input(300, 1);
  Floats output(300);
  Call call{.collective = Collective::Reduce, .input = input.data(), .output = output.data(), .count = 300};
  const runtime::Run& run = must_post(rank.communicator, call);
  EXPECT_GT(runtime::as_collective(run).parts, 1u);
  EXPECT_EQ(run.status.code(), Code::Mismatch) << run.status.to_string();
}

TEST(ReceiveForgotten, WhatWaitedForACommunicatorThatIsGoneNoLongerCountsAgainstItsSender) {
  runtime::ExecutorOptions options = quick_executor();
  options.max_runs = options.max_messages = 1;  // this gives the least bound, a million descriptors
  LoneRank rank(2, options);
  const std::vector<std::byte> range(64);
  for (std::uint64_t id = 100; id < 125; ++id) {
    runtime::Communicator passing(rank.executor, id);
    MessageHeader header = LoneRank::message(0, 0, std::size_t{1} << 30);
    header.communicator = id;
    for (int i = 0; i < 50'000; ++i, header.begin_at(header.offset + range.size())) {
      rank.wire.arrive(1, header, range, Delivery::Descriptor);
    }
    rank.progress();
    ASSERT_TRUE(passing.status()) << passing.status().to_string();
  }
  EXPECT_EQ(rank.wire.offered, 0u);
}

}  // namespace
}  // namespace lacuna::test
