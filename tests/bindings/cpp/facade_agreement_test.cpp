#include <gtest/gtest.h>

#include <mutex>

#include "runtime/observe/log.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"

// What ranks are told if they made different calls.
namespace lacuna {
namespace {

using namespace test;

/// Collects the error lines of this process while it lives.
class Errors {
 public:
  Errors() {
    set_log_callback(
        [](LogLevel level, std::string_view text, void* user) {
          if (level != LogLevel::Error) return;
          auto* self = static_cast<Errors*>(user);
          const std::lock_guard lock(self->mutex_);
          self->lines_.emplace_back(text);
        },
        this);
  }
  ~Errors() { set_log_callback(nullptr, nullptr); }
  Errors(const Errors&) = delete;
  Errors& operator=(const Errors&) = delete;

  /// Returns all lines, each behind `start`.
  std::string all(const std::string& start = "") const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : lines_) text += start + line + "\n";
    return text;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

void expect_said(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
}

std::vector<float> ten(float value) { return std::vector<float>(10, value); }

TEST(FacadeAgreement, ACallThatOnlyOthersHeardOfIsKnownAtTheNextMessageBetweenRanksThatDiffered) {
  auto ranks = local(4, Progress::Caller);  // ranks 0 and 2, to which the reduces send, look at nothing
  std::vector<float> data = ten(1), unused;
  EXPECT_TRUE(ranks[3].call(reduce<float>(data, unused, 0, Reduction::Max)));
  EXPECT_TRUE(ranks[3].call(broadcast<float>(data, 3)));
  EXPECT_TRUE(ranks[1].call(reduce<float>(data, unused, 0, Reduction::Sum)));
  const Status told = ranks[1].call(broadcast<float>(data, 3));
  EXPECT_EQ(told.code(), Code::Mismatch);
  expect_said(told.to_string(), {"call 0 differs: rank 1 posted reduce tree f32 count 10 sum root 0; "
                                 "rank 3 posted reduce tree f32 count 10 max root 0"});
}

TEST(FacadeAgreement, RanksThatAgreeLeaveWithoutAWord) {
  const Errors errors;
  {
    auto ranks = local(3, Progress::Thread);
    on_each(ranks, [](Communicator& rank) {
      std::vector<float> data = ten(1);
      EXPECT_TRUE(rank.call(broadcast<float>(data, 1)));
      auto half = rank.split(rank.rank() % 2);
      ASSERT_TRUE(half);
      EXPECT_TRUE((*half)->call(broadcast<float>(data, 0)));
    });
  }
  EXPECT_EQ(errors.all(), "");
}

TEST(FacadeAgreement, ABroadcastWithTwoRootsThatEndedWellEverywhereIsSaidWhenTheRanksLeave) {
  const Errors errors;
  {
    auto ranks = local(2, Progress::Caller);
    std::vector<float> data[2] = {ten(1), ten(2)};
    for (Rank rank : {0, 1}) {
      EXPECT_EQ(ranks[static_cast<std::size_t>(rank)].call(broadcast<float>(data[rank], rank)).to_string(), "ok");
    }
  }
  expect_said(errors.all(), {"did not agree", "call 0 ", "rank 0 posted broadcast tree f32 count 10 root 0",
                             "rank 1 posted broadcast tree f32 count 10 root 1"});
}

// A program that takes the log's lines itself ends well. Nothing else would tell whoever started it.
TEST(FacadeAgreement, WhatOnlyTheLogTellsIsOnTheErrorOutputToo) {
  runtime::set_log_rank(-1);  // another test may have made this process a rank of a job
  for (const bool fails_after_its_end : {false, true}) {
    const Errors errors;
    testing::internal::CaptureStderr();
    {
      auto ranks = local(2, Progress::Caller);
      std::vector<float> data[2] = {ten(1), ten(2)};
      for (Rank rank : {0, 1}) {
        EXPECT_TRUE(ranks[static_cast<std::size_t>(rank)].call(broadcast<float>(data[rank], rank)));
      }
      while (fails_after_its_end && (ranks[0].progress() || ranks[1].progress())) {
      }
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), errors.all("lacuna error: "));
    expect_said(errors.all(), {"did not agree", "call 0 ", "differs: rank 0 posted"});
  }
}

TEST(FacadeAgreement, ACallThatOthersNeverMadeIsSaidWhenTheRanksLeave) {
  const Errors errors;
  {
    auto ranks = local(3, Progress::Caller);
    std::vector<float> data = ten(1);
    EXPECT_TRUE(ranks[1].call(broadcast<float>(data, 1)));
  }
  expect_said(errors.all(), {"did not agree", "ranks 0, 2 left before call 0", "rank 1 posted", "broadcast tree f32"});
}

TEST(FacadeAgreement, TheFirstOfSeveralCallsThatDifferIsNamed) {
  const Errors errors;
  {
    auto ranks = local(2, Progress::Caller);
    std::vector<float> data[2] = {ten(1), ten(2)};
    const std::size_t counts[2] = {7, 8};
    for (std::size_t rank : {0, 1}) {
      const auto root = static_cast<Rank>(rank);
      const std::span<float> mine(data[rank]);
      EXPECT_TRUE(ranks[rank].call(broadcast<float>(mine.first(counts[rank]), root)));
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(ranks[rank].call(broadcast<float>(mine, root)));
    }
  }
  expect_said(errors.all(), {"call 0 ", "rank 0 posted broadcast tree f32 count 7 root 0",
                             "rank 1 posted broadcast tree f32 count 8 root 1"});
}

TEST(FacadeAgreement, CallsThatNobodyRemembersAnyMoreAreSaidToBeMissingAllTheSame) {
  const Errors errors;
  {
    auto ranks = local(3, Progress::Caller);
    std::vector<float> data = ten(1);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(ranks[1].call(broadcast<float>(data, 1)));
  }
  expect_said(errors.all(), {"did not agree", "ranks 0, 2 left before call 0", "rank 1 posted it"});
}

// Each rank looks at what the other has sent once its own call has ended.
void differ_and_look(std::vector<Communicator>& ranks) {
  std::vector<float> data[2] = {ten(1), ten(2)};
  for (Rank rank : {0, 1}) EXPECT_TRUE(ranks[static_cast<std::size_t>(rank)].call(broadcast<float>(data[rank], rank)));
  for (Communicator& rank : ranks) {
    while (rank.progress()) {
    }
  }
}

TEST(FacadeAgreement, AMismatchThatComesAfterTheLastCallIsSaidWhenTheRanksLeave) {
  const Errors errors;
  {
    auto ranks = local(2, Progress::Caller);
    differ_and_look(ranks);
  }
  expect_said(errors.all(), {"did not agree", "call 0 differs", "rank 0 posted broadcast tree f32 count 10 root 0"});
}

TEST(FacadeAgreement, AMismatchThatALaterCallHasToldIsNotSaidAgain) {
  const Errors errors;
  {
    auto ranks = local(2, Progress::Caller);
    differ_and_look(ranks);
    for (Communicator& rank : ranks) EXPECT_EQ(rank.call(barrier()).code(), Code::Mismatch);
  }
  EXPECT_EQ(errors.all(), "");
}

TEST(FacadeAgreement, AFailedCommunicatorHasSaidItsErrorAlready) {
  const Errors errors;
  {
    auto ranks = local(2, Progress::Thread);
    on_each(ranks, [](Communicator& rank) {
      std::vector<float> data(rank.rank() == 0 ? 10 : 11);
      EXPECT_EQ(rank.call(allreduce<float>(data, data)).code(), Code::Mismatch);
    });
  }
  EXPECT_EQ(errors.all(), "");
}

}  // namespace
}  // namespace lacuna
