#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>

#include "tests/support/calls.hpp"

// Calls of one step on the board that are made again. They end without an active part if all rows come soon.
namespace lacuna::test {
namespace {

using Floats = std::vector<float>;

Call board_call(const Floats& input, Floats& output) { return allreduce_call(input, output, "board"); }

/// Posts a call as programs do, which take a kept run if there is one.
runtime::Run& post(Ranks& ranks, Rank rank, const Call& call) {
  const auto again = ranks.communicator(rank).post_again(call);
  if (!again) throw std::runtime_error(again.status().to_string());
  return *again ? **again : must_post(ranks, rank, call);
}

bool is_kept(Ranks& ranks, Rank rank, const Call& call) { return ranks.communicator(rank).kept().find(call); }

/// Makes a call once on each rank, so that it is kept.
void make_once(Ranks& ranks, const std::vector<Call>& calls) {
  std::vector<runtime::Run*> runs;
  for (Rank rank = 0; rank < ranks.size(); ++rank) runs.push_back(&must_post(ranks, rank, calls[std::size_t(rank)]));
  ASSERT_TRUE(ranks.sweep_until([&] { return std::ranges::all_of(runs, [](auto* run) { return run->finished; }); }));
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    ranks.communicator(rank).release(*runs[std::size_t(rank)]);
    ASSERT_TRUE(is_kept(ranks, rank, calls[std::size_t(rank)]));
  }
}

/// Two ranks. Each has made one call of two elements, so that it keeps the run.
class BoardMeeting : public testing::Test {
 protected:
  void SetUp() override { make_once(ranks, calls()); }
  std::vector<Call> calls() { return {board_call(input, output[0]), board_call(input, output[1])}; }

  Ranks ranks{2};
  Floats input = {1, 2};
  std::vector<Floats> output{2, Floats(2)};
};

TEST_F(BoardMeeting, CountsWhatACallWithAPartCounts) {
  const Counters before = ranks.counters(1);
  runtime::Run& first = post(ranks, 0, calls()[0]);
  EXPECT_FALSE(first.finished);
  EXPECT_EQ(first.active.size(), 1u) << "the other row was missing";
  const runtime::Run& last = post(ranks, 1, calls()[1]);
  EXPECT_TRUE(last.finished);
  ASSERT_TRUE(ranks.sweep_until([&] { return first.finished; }));
  EXPECT_EQ(output, std::vector<Floats>(2, {2, 4}));
  EXPECT_EQ(ranks.counters(1).payload_sent, 2 * before.payload_sent);
  EXPECT_EQ(ranks.counters(1).payload_received, 2 * before.payload_received);
  EXPECT_EQ(ranks.counters(1).messages_sent, 0u);
}

TEST_F(BoardMeeting, NamesTheRankWhoseRowIsMissing) {
  const runtime::Run& run = post(ranks, 0, calls()[0]);
  const std::string text = ranks.communicator(0).text_of(run);
  EXPECT_NE(text.find("misses the row of rank 1 on the board"), std::string::npos) << text;
}

TEST_F(BoardMeeting, EndsWithAnErrorOnAllRanksThatDoNotAgree) {
  std::vector<Floats> shorter(2, Floats(1));
  const Floats one = {1};
  make_once(ranks, {board_call(one, shorter[0]), board_call(one, shorter[1])});
  runtime::Run& first = post(ranks, 0, calls()[0]);
  runtime::Run& last = post(ranks, 1, board_call(one, shorter[1]));
  ASSERT_TRUE(ranks.sweep_until([&] { return first.finished && last.finished; }));
  EXPECT_EQ(first.status.code(), Code::Mismatch) << first.status.to_string();
  EXPECT_EQ(last.status.code(), Code::Mismatch) << last.status.to_string();
  EXPECT_NE(last.status.message().find("count 1"), std::string_view::npos) << last.status.message();
}

TEST_F(BoardMeeting, EndsWithItsCommunicatorThoughItsRowIsWritten) {
  runtime::Run& run = post(ranks, 0, calls()[0]);
  ranks.communicator(0).fail({Code::PeerFailed, "planted"});
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(run.status.message(), "planted");
  EXPECT_TRUE(ranks.communicator(0).reclaimed(run));
}

TEST_F(BoardMeeting, WaitsBehindAnEarlierCallWhoseRowIsMissing) {
  Floats other = {5, 5};
  std::vector<Floats> others(2, Floats(2));
  runtime::Run& earlier = must_post(ranks, 0, board_call(other, others[0]));
  runtime::Run& later = post(ranks, 0, calls()[0]);
  must_post(ranks, 1, board_call(other, others[1]));
  post(ranks, 1, calls()[1]);
  ASSERT_TRUE(ranks.sweep_until([&] { return earlier.finished && later.finished; }));
  EXPECT_EQ(others[0], (Floats{10, 10}));
  EXPECT_EQ(output[0], (Floats{2, 4}));
}

TEST_F(BoardMeeting, WakesARankThatWaitsForRoom) {
  std::vector<Floats> outputs(Board::turns + 1, Floats(2));
  for (Floats& one : outputs) must_post(ranks, 0, board_call(input, one));
  while (ranks.executor(0).progress() || !ranks.executor(0).arm()) {
  }
  EXPECT_TRUE(post(ranks, 1, calls()[1]).finished);
  pollfd sleeper{.fd = ranks.executor(0).event_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&sleeper, 1, 1000), 1);
}

/// Ranks make the same calls in the same order, each at its own pace. Some calls are short and some are long. Some go
/// over the board and some by messages. Each kind of call is made many times.
class DifferentPaces {
 public:
  DifferentPaces(Rank size, std::uint32_t seed, const RanksOptions& options)
      : ranks_(size, options), draws_(seed), members_(static_cast<std::size_t>(size)) {
    for (std::size_t call = 0; call < calls; ++call) kinds_.push_back(draws_() % kinds.size());
    for (Member& member : members_) {
      for (const Kind& kind : kinds) {
        member.inputs.emplace_back(kind.count);
        member.outputs.emplace_back(kind.count);
      }
    }
  }

  void make_all_calls() {
    for (int step = 0; std::ranges::any_of(members_, [](const Member& one) { return one.posted < calls; }); ++step) {
      ASSERT_LT(step, 100'000);
      post_next(draw_rank());
      if (draws_() % 3 == 0) ranks_.executor(draw_rank()).progress();
      ASSERT_NO_FATAL_FAILURE(take_ended());
    }
    ASSERT_TRUE(ranks_.sweep_until([&] {
      take_ended();
      return std::ranges::all_of(members_, [](const Member& one) { return one.in_flight.empty(); });
    }));
  }

 private:
  struct Kind {
    std::size_t count;
    const char* algorithm;
  };
  static constexpr std::array<Kind, 5> kinds = {
      {{2, "board"}, {1024, "board"}, {0, "board"}, {3000, "board"}, {7, "ring"}}};
  static constexpr std::size_t calls = 300;

  struct InFlight {
    std::size_t call;
    runtime::Run* run;
  };
  struct Member {
    std::vector<Floats> inputs, outputs;  ///< by kind
    std::deque<InFlight> in_flight;
    std::size_t posted = 0;
  };

  Rank draw_rank() { return static_cast<Rank>(draws_() % members_.size()); }
  Member& member(Rank rank) { return members_[static_cast<std::size_t>(rank)]; }
  static float value(Rank rank, std::size_t call) { return static_cast<float>(call % 97) + static_cast<float>(rank); }

  /// Posts the next call of a rank, unless an earlier one still uses its buffers.
  void post_next(Rank rank) {
    Member& own = member(rank);
    if (own.posted == calls) return;
    const std::size_t call = own.posted, kind = kinds_[call];
    const auto has_same_buffers = [&](const InFlight& one) { return kinds_[one.call] == kind; };
    if (std::ranges::any_of(own.in_flight, has_same_buffers)) return;
    Floats& input = own.inputs[kind];
    input.assign(input.size(), value(rank, call));
    own.in_flight.push_back(
        {call, &post(ranks_, rank, allreduce_call(input, own.outputs[kind], kinds[kind].algorithm))});
    ++own.posted;
  }

  /// Checks the calls that have ended, and releases them.
  void take_ended() {
    for (Rank rank = 0; rank < ranks_.size(); ++rank) {
      Member& own = member(rank);
      while (!own.in_flight.empty() && own.in_flight.front().run->finished) {
        const auto [call, run] = own.in_flight.front();
        ASSERT_TRUE(run->status) << run->status.to_string();
        float sum = 0;
        for (Rank other = 0; other < ranks_.size(); ++other) sum += value(other, call);
        ASSERT_EQ(own.outputs[kinds_[call]], Floats(kinds[kinds_[call]].count, sum)) << "call " << call;
        ranks_.communicator(rank).release(*run);
        own.in_flight.pop_front();
      }
    }
  }

  Ranks ranks_;
  std::mt19937 draws_;
  std::vector<std::size_t> kinds_;  // of each call
  std::vector<Member> members_;     // by rank
};

TEST(BoardMeetings, AreRightWhateverThePaceOfTheRanks) {
  for (const Rank size : {1, 2, 3, 5}) {
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(testing::Message() << size << " ranks, seed " << seed);
      RanksOptions options{.network = {.seed = seed}, .executor = quick_executor()};
      if (seed % 2 == 0) options.executor.spin = std::chrono::microseconds(1);
      if (seed == 3) options.executor.trace_events = 1000;
      ASSERT_NO_FATAL_FAILURE(DifferentPaces(size, seed, options).make_all_calls());
    }
  }
}

TEST(BoardMeetings, OfPreparedCallsAreRightInThreads) {
  constexpr int starts = 3000;
  Ranks ranks(3);
  std::vector<int> right(3, 0);
  ranks.each_in_thread([&](Rank rank) {
    Floats input(3), output(3);
    runtime::Communicator& communicator = ranks.communicator(rank);
    const Call call = board_call(input, output);
    runtime::Run& run = **communicator.prepare(call, **select_algorithm(call, communicator.hosts()));
    for (int start = 0; start < starts; ++start) {
      input.assign(3, static_cast<float>(start + rank));
      const bool well = communicator.start(run) && communicator.wait(run);
      right[std::size_t(rank)] += well && output == Floats(3, static_cast<float>(3 * start + 3));
    }
    communicator.release(run);
  });
  EXPECT_EQ(right, std::vector<int>(3, starts));
}

TEST(BoardMeetings, OfCallsThatAreMadeAgainAreRightInThreads) {
  constexpr int calls = 3000;
  Ranks ranks(3);
  std::vector<int> right(3, 0);
  ranks.each_in_thread([&](Rank rank) {
    Floats input(3), output(3);
    for (int number = 0; number < calls; ++number) {
      input.assign(3, static_cast<float>(number + rank));
      const Call call = board_call(input, output);
      const auto again = ranks.communicator(rank).call_again(call);
      const bool well = again && (*again || ranks.run_on(rank, call));
      right[std::size_t(rank)] += well && output == Floats(3, static_cast<float>(3 * number + 3));
    }
  });
  EXPECT_EQ(right, std::vector<int>(3, calls));
}

}  // namespace
}  // namespace lacuna::test
