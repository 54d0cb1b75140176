#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

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
       const Call call = asked.with(broadcast_call(data, 1));
       const auto again = ranks.communicator(0).post_again(call);
       return !again || *again ? again : ranks.post(0, call);
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

/// Two ranks, and an algorithm that counts how often a rank asks it for the order of the ranks.
struct Counting {
  explicit Counting(const char* algorithm_name) {
    Call call = {.collective = Collective::Allreduce};
    call.options.algorithm = algorithm_name;
    algorithm = **select_algorithm(call, Hosts(2));
    algorithm.order = counted_order;
    options.executor.chunk_bytes = 1 << 10;
    ranks.emplace(2, options);
    orders = 0;
  }
  runtime::Communicator& communicator(Rank rank) { return ranks->communicator(rank); }

  /// Makes an allreduce of these inputs on two communicators. Returns the rank whose output is wrong, or nothing.
  std::optional<Rank> reduce(runtime::Communicator& first, runtime::Communicator& second, std::vector<float> (&in)[2],
                             std::vector<float> (&out)[2]) {
    runtime::Communicator* const all[2] = {&first, &second};
    runtime::Run* runs[2];
    for (Rank rank : {0, 1}) {
      out[rank].assign(in[rank].size(), 0);
      const Call call = allreduce_call(in[rank], out[rank]);
      const auto again = all[rank]->post_again(call);
      EXPECT_TRUE(again) << again.status().to_string();
      runs[rank] = *again ? *again : *all[rank]->post(call, algorithm);
    }
    EXPECT_TRUE(ranks->sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
    last_run = runs[0];
    for (Rank rank : {0, 1}) all[rank]->release(*runs[rank]);
    for (Rank rank : {0, 1}) {
      for (std::size_t i = 0; i < in[rank].size(); ++i) {
        if (out[rank][i] != in[0][i] + in[1][i]) return rank;
      }
    }
    return {};
  }
  std::optional<Rank> reduce(std::vector<float> (&in)[2], std::vector<float> (&out)[2]) {
    return reduce(communicator(0), communicator(1), in, out);
  }

  Algorithm algorithm;
  RanksOptions options{.network = {}, .executor = quick_executor()};
  std::optional<Ranks> ranks;
  runtime::Run* last_run = nullptr;  ///< of rank 0; it has been released
};

/// Starts a prepared call five times, and returns how many of its parts were planned after the first time.
int parts_planned_again(std::size_t count) {
  Counting two("ring");
  std::vector<float> in[2], out[2];
  runtime::Run* runs[2];
  for (Rank rank : {0, 1}) {
    in[rank].resize(count);
    out[rank].resize(count);
    runs[rank] = *two.communicator(rank).prepare(allreduce_call(in[rank], out[rank]), two.algorithm);
  }
  for (int start = 1; start <= 5; ++start) {
    if (start == 2) orders = 0;
    for (Rank rank : {0, 1}) {
      in[rank].assign(count, static_cast<float>(start + rank));
      out[rank].assign(count, 0);
    }
    for (Rank rank : {0, 1}) EXPECT_TRUE(two.communicator(rank).start(*runs[rank]));
    EXPECT_TRUE(two.ranks->sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
    for (Rank rank : {0, 1}) EXPECT_EQ(out[rank], std::vector<float>(count, static_cast<float>(2 * start + 1)));
  }
  for (Rank rank : {0, 1}) two.communicator(rank).release(*runs[rank]);
  return orders / 2;
}

TEST(RunReuse, APreparedCallOfOnePartIsPlannedAtItsFirstStartOnly) {
  EXPECT_EQ(parts_planned_again(10), 0);
  EXPECT_EQ(parts_planned_again(2000), 4 * 2);
}

TEST(RunReuse, ACallOfOnePartThatIsMadeAgainIsNotPlannedAgain) {
  Counting two("ring");
  std::vector<float> gradients[3][2], sums[3][2];
  for (int time = 0; time < 4; ++time) {
    for (auto i : {0, 1, 2}) {
      for (Rank rank : {0, 1})
        gradients[i][rank].assign(static_cast<std::size_t>(10 + i), static_cast<float>(time + i));
      EXPECT_EQ(two.reduce(gradients[i], sums[i]), std::nullopt) << i;
    }
    EXPECT_EQ(std::exchange(orders, 0) > 0, time == 0) << "time " << time;
  }
  std::vector<float> elsewhere[2];
  EXPECT_EQ(two.reduce(gradients[0], elsewhere), std::nullopt);
  EXPECT_EQ(orders, 2) << "it has another output";
}

TEST(RunReuse, ACallThatIsMadeAgainIsStillRefused) {
  Counting two("ring");
  std::vector<float> in[2] = {{1, 2}, {3, 4}}, out[2];
  EXPECT_EQ(two.reduce(in, out), std::nullopt);
  Call late = allreduce_call(in[0], out[0]);
  late.options.deadline = -1ms;
  EXPECT_EQ(two.communicator(0).post_again(late).status().code(), Code::InvalidArgument);
  EXPECT_EQ(two.reduce(in, out), std::nullopt) << "nothing is lost by that";
  two.communicator(0).fail({Code::TimedOut, "a test ends it"});
  const auto refused = two.communicator(0).post_again(allreduce_call(in[0], out[0]));
  EXPECT_EQ(refused.status().message(), "a test ends it");
}

TEST(RunReuse, ADestroyedCommunicatorLeavesItsRunsToOthersButNotItsCalls) {
  Counting two("ring");
  std::vector<float> in[2] = {{1, 2}, {3, 4}}, out[2];
  std::optional<runtime::Communicator> made[2];
  std::set<runtime::Run*> runs;
  for (std::uint64_t id = 100; id < 103; ++id) {
    const Group group(id % 2 == 0 ? std::vector<Rank>{0, 1} : std::vector<Rank>{1, 0}, 2);
    for (Rank rank : {0, 1}) made[rank].emplace(two.ranks->executor(rank), id, group);
    for (int time = 0; time < 2; ++time) {
      EXPECT_EQ(two.reduce(*made[0], *made[1], in, out), std::nullopt) << id;
      EXPECT_EQ(std::exchange(orders, 0) > 0, time == 0) << "communicator " << id << ", time " << time;
      runs.insert(two.last_run);
    }
    for (Rank rank : {0, 1}) made[rank].reset();
  }
  EXPECT_EQ(runs.size(), 1u);
}

}  // namespace
}  // namespace lacuna::test
