#include <gtest/gtest.h>

#include <memory>

#include "tests/support/calls.hpp"
#include "tests/support/hand_clock.hpp"

// A call or message that has ended leaves its memory to the next one, but nothing else.
namespace lacuna::test {
namespace {

using namespace std::chrono_literals;

/// Options of a call or a message.
struct Asked {
  std::chrono::milliseconds deadline{0};
  std::optional<std::uint64_t> notify{};
  std::shared_ptr<const void> keep_alive{};

  template <class Given>
  Given with(Given given) const {
    given.options.deadline = deadline;
    given.options.notify = notify;
    given.options.keep_alive = keep_alive;
    return given;
  }
};

/// Rank 0 starts something that rank 1 must answer.
struct Deed {
  const char* name;
  Result<runtime::Run*> (*start)(Ranks&, const Asked&, std::vector<float>&);
  Result<runtime::Run*> (*answer)(Ranks&, std::vector<float>&);
};

constexpr Deed deeds[] = {
    {"a call",
     [](Ranks& ranks, const Asked& asked, std::vector<float>& data) {
       return ranks.post(0, asked.with(broadcast_call(data, 1)));
     },
     [](Ranks& ranks, std::vector<float>& data) { return ranks.post(1, broadcast_call(data, 1)); }},
    {"a receive",
     [](Ranks& ranks, const Asked& asked, std::vector<float>& data) {
       return ranks.communicator(0).post(asked.with(Receive{.data = data.data(), .count = data.size(), .from = 1}));
     },
     [](Ranks& ranks, std::vector<float>& data) {
       return ranks.communicator(1).post(Send{.data = data.data(), .count = data.size(), .to = 0});
     }},
    {"a send",
     [](Ranks& ranks, const Asked& asked, std::vector<float>& data) {
       return ranks.communicator(0).post(asked.with(Send{.data = data.data(), .count = data.size(), .to = 1}));
     },
     [](Ranks& ranks, std::vector<float>& data) {
       return ranks.communicator(1).post(Receive{.data = data.data(), .count = data.size(), .from = 0});
     }}};

TEST(RunReuse, WhatIsStartedAfterItsPredecessorHasEndedHasNothingOfWhatThatWasAskedFor) {
  for (const Deed& deed : deeds) {
    HandClock clock;
    RanksOptions options{.network = {}, .executor = quick_executor()};
    options.executor.eager_bytes = 0;
    options.executor.time = runtime::TimeSource(clock);
    Ranks ranks(2, options);
    std::vector<float> mine(10), theirs(10, 5);
    const auto finish = [&](runtime::Run& run) {
      runtime::Run& answer = **deed.answer(ranks, theirs);
      EXPECT_TRUE(ranks.sweep_until([&] { return run.finished && answer.finished; })) << deed.name;
      ranks.communicator(0).release(run);
      ranks.communicator(1).release(answer);
    };
    const auto kept = std::make_shared<int>(1);
    runtime::Run* const first = *deed.start(ranks, {.deadline = 100ms, .notify = 71, .keep_alive = kept}, mine);
    finish(*first);
    EXPECT_EQ(ranks.executor(0).next_finished()->token, 71u) << deed.name;
    EXPECT_EQ(kept.use_count(), 1) << deed.name;

    runtime::Run* const second = *deed.start(ranks, {}, mine);
    ASSERT_EQ(second, first) << deed.name << ": its memory is not used again, so that this shows nothing";
    clock.move(100ms);
    ranks.sweep_until([] { return false; });
    EXPECT_FALSE(second->finished) << deed.name << ": " << second->status.to_string();
    finish(*second);
    EXPECT_FALSE(ranks.executor(0).next_finished()) << deed.name;
  }
}

}  // namespace
}  // namespace lacuna::test
