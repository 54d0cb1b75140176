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

int orders = 0;  ///< how often ranks were ordered for a call

Order counted_order(const Binding& binding, std::uint32_t) {
  ++orders;
  return {binding.hosts.size(), 0};
}

/// Starts a prepared call five times on two ranks, and returns how many of its parts were planned after the first time.
int parts_planned_again(std::size_t count, Algorithm algorithm) {
  algorithm.order = counted_order;
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.chunk_bytes = 1 << 10;
  Ranks ranks(2, options);
  std::vector<float> in[2], out[2];
  runtime::Run* runs[2];
  for (Rank rank : {0, 1}) {
    in[rank].resize(count);
    out[rank].resize(count);
    runs[rank] = *ranks.communicator(rank).prepare(allreduce_call(in[rank], out[rank]), algorithm);
  }
  for (int start = 1; start <= 5; ++start) {
    if (start == 2) orders = 0;
    for (Rank rank : {0, 1}) {
      in[rank].assign(count, static_cast<float>(start + rank));
      out[rank].assign(count, 0);
    }
    for (Rank rank : {0, 1}) EXPECT_TRUE(ranks.communicator(rank).start(*runs[rank]));
    EXPECT_TRUE(ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
    for (Rank rank : {0, 1}) EXPECT_EQ(out[rank], std::vector<float>(count, static_cast<float>(2 * start + 1)));
  }
  for (Rank rank : {0, 1}) ranks.communicator(rank).release(*runs[rank]);
  return orders / 2;
}

TEST(RunReuse, APreparedCallOfOnePartIsPlannedAtItsFirstStartOnly) {
  Call call = {.collective = Collective::Allreduce};
  call.options.algorithm = "ring";
  const Algorithm& known = **select_algorithm(call, Hosts(2));
  EXPECT_EQ(parts_planned_again(10, known), 0);
  EXPECT_EQ(parts_planned_again(2000, known), 4 * 2);
}

}  // namespace
}  // namespace lacuna::test
