#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "tests/support/calls.hpp"

namespace lacuna::test {
namespace {

using Floats = std::vector<float>;

Call board_call(const Floats& input, Floats& output) { return allreduce_call(input, output, "board"); }

TEST(BoardSteps, EndForALateRankAtOnceAsAllOthersHaveWritten) {
  Ranks ranks(3);
  const Floats input = {1, 2};
  std::vector<Floats> output(3, Floats(2));
  std::vector<runtime::Run*> runs;
  for (Rank rank = 0; rank < 3; ++rank) runs.push_back(&must_post(ranks, rank, board_call(input, output[rank])));
  EXPECT_FALSE(runs[0]->finished);
  EXPECT_TRUE(runs[2]->finished) << "the last rank finds all rows";
  ASSERT_TRUE(ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
  for (const Floats& sum : output) EXPECT_EQ(sum, (Floats{3, 6}));
  EXPECT_EQ(ranks.counters(0).messages_sent, 0u);
  EXPECT_EQ(ranks.counters(0).payload_sent, 16u) << "8 bytes count for each rank that reads them";
  EXPECT_EQ(ranks.counters(0).payload_received, 16u);
}

TEST(BoardSteps, ServeMoreCallsInFlightThanTheBoardHasTurns) {
  constexpr std::size_t calls = 2 * Board::turns;
  Ranks ranks(2);
  std::vector<Floats> input, output(2 * calls, Floats(1));
  for (std::size_t i = 0; i < calls; ++i) input.push_back({static_cast<float>(i)});
  std::vector<runtime::Run*> runs;
  for (std::size_t i = 0; i < calls; ++i) runs.push_back(&must_post(ranks, 0, board_call(input[i], output[i])));
  for (std::size_t i = 0; i < calls; ++i) {
    ranks.sweep();
    runs.push_back(&must_post(ranks, 1, board_call(input[i], output[calls + i])));
  }
  const auto all_ended = [&] { return std::ranges::all_of(runs, [](const auto* run) { return run->finished; }); };
  ASSERT_TRUE(ranks.sweep_until(all_ended));
  for (std::size_t i = 0; i < 2 * calls; ++i) EXPECT_EQ(output[i][0], 2 * static_cast<float>(i % calls)) << i;
}

TEST(BoardSteps, KeepTheirOrderBesideMessagesAndCallsOfSeveralParts) {
  RanksOptions options{.network = {.seed = 5}, .executor = quick_executor()};
  options.executor.chunk_bytes = 64;
  Ranks ranks(2, options);
  const Floats small = {1}, large(3000, 2);
  std::vector<Floats> sums(8);
  std::vector<runtime::Run*> runs;
  for (Rank rank = 0; rank < 2; ++rank) {
    for (std::size_t i = 0; i < 4; ++i) {
      Floats& sum = sums[static_cast<std::size_t>(rank) * 4 + i];
      const Floats& input = i % 2 == 0 ? large : small;
      sum.resize(input.size());
      runs.push_back(&must_post(ranks, rank, allreduce_call(input, sum, i == 2 ? "ring" : "board")));
      ranks.sweep();
    }
  }
  const auto all_ended = [&] { return std::ranges::all_of(runs, [](const auto* run) { return run->finished; }); };
  ASSERT_TRUE(ranks.sweep_until(all_ended));
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(sums[i], i % 2 == 0 ? Floats(3000, 4) : Floats{2}) << i;
}

TEST(BoardSteps, NameTheRankWhoseRowIsMissing) {
  Ranks ranks(3);
  const Floats input = {1, 2};
  std::vector<Floats> output(3, Floats(2));
  runtime::Run& run = must_post(ranks, 0, board_call(input, output[0]));
  must_post(ranks, 1, board_call(input, output[1]));
  const std::string text = ranks.communicator(0).text_of(run);
  EXPECT_NE(text.find("allreduce board f32 count 2"), std::string::npos) << text;
  EXPECT_NE(text.find("misses the row of rank 2 on the board"), std::string::npos) << text;
}

TEST(BoardSteps, EndWithAnErrorOnAllRanksThatDoNotAgree) {
  Ranks ranks(2);
  const Floats input = {1, 2};
  std::vector<Floats> output(2, Floats(2));
  Call other = board_call(input, output[1]);
  other.count = 1;
  const auto outcome = ranks.run({board_call(input, output[0]), other});
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(outcome[rank].code(), Code::Mismatch) << outcome[rank].to_string();
    const std::string_view own = rank == 0 ? "count 2" : "count 1";
    EXPECT_NE(outcome[rank].message().find(own), std::string_view::npos) << outcome[rank].message();
  }
}

TEST(BoardSteps, EndWithAnErrorIfAnotherRankSendsMessagesForTheCall) {
  Ranks ranks(2);
  const Floats input = {1, 2};
  std::vector<Floats> output(2, Floats(2));
  const auto outcome =
      ranks.run({board_call(input, output[0]), allreduce_call(input, output[1], "recursive_doubling")});
  EXPECT_EQ(outcome[0].code(), Code::Mismatch) << outcome[0].to_string();
  EXPECT_FALSE(outcome[1]);
}

TEST(BoardSteps, AreGivenUpWithTheirCommunicator) {
  Ranks ranks(2);
  const Floats input = {1, 2};
  Floats output(2);
  runtime::Run& run = must_post(ranks, 0, board_call(input, output));
  ranks.communicator(0).fail({Code::PeerFailed, "planted"});
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(run.status.message(), "planted");
  EXPECT_TRUE(ranks.communicator(0).reclaimed(run));
}

/// Is the executor's descriptor readable within this time?
bool is_awake(runtime::Executor& executor, int milliseconds = 1000) {
  pollfd entry{.fd = executor.event_fd(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, milliseconds) == 1;
}

/// Makes progress until the executor says that it may sleep.
void fall_asleep(runtime::Executor& executor) {
  while (executor.progress() || !executor.arm()) {
  }
}

/// The parameter says whether ranks have doorbells. Ranks without them wake each other by empty messages.
class BoardSleepers : public testing::TestWithParam<bool> {
 protected:
  Ranks ranks{2, {.network = {}, .executor = quick_executor(), .have_bells = GetParam()}};
};

TEST_P(BoardSleepers, WakeForARow) {
  const Floats input = {1, 2};
  std::vector<Floats> output(2, Floats(2));
  runtime::Run& run = must_post(ranks, 0, board_call(input, output[0]));
  fall_asleep(ranks.executor(0));
  must_post(ranks, 1, board_call(input, output[1]));
  ASSERT_TRUE(is_awake(ranks.executor(0)));
  ASSERT_TRUE(ranks.sweep_until([&] { return run.finished; }));
  EXPECT_EQ(ranks.counters(1).messages_sent, GetParam() ? 0u : 1u);
  fall_asleep(ranks.executor(0));
  EXPECT_FALSE(is_awake(ranks.executor(0), 0)) << "nobody has rung again";
}

TEST_P(BoardSleepers, WakeThoughAnotherThreadOfTheirRankHasLooked) {
  const Floats input = {1, 2};
  std::vector<Floats> output(2, Floats(2));
  must_post(ranks, 0, board_call(input, output[0]));
  fall_asleep(ranks.executor(0));
  EXPECT_FALSE(ranks.executor(0).progress()) << "this is the other thread";
  must_post(ranks, 1, board_call(input, output[1]));
  EXPECT_TRUE(is_awake(ranks.executor(0)));
}

TEST_P(BoardSleepers, WakeForRoom) {
  const Floats input = {1};
  std::vector<Floats> output(2 * (Board::turns + 1), Floats(1));
  std::vector<runtime::Run*> runs;
  const auto post = [&](Rank rank) { runs.push_back(&must_post(ranks, rank, board_call(input, output[runs.size()]))); };
  for (std::uint64_t turn = 0; turn <= Board::turns; ++turn) post(0);
  fall_asleep(ranks.executor(0));
  post(1);
  ASSERT_TRUE(is_awake(ranks.executor(0)));
  for (std::uint64_t turn = 0; turn < Board::turns; ++turn) post(1);
  const auto all_ended = [&] { return std::ranges::all_of(runs, [](const auto* run) { return run->finished; }); };
  ASSERT_TRUE(ranks.sweep_until(all_ended));
}

TEST_P(BoardSleepers, AreLeftAloneOnceTheyHaveLeft) {
  const auto memory = Board::local_memory(2);
  std::vector<std::unique_ptr<runtime::Communicator>> both;
  for (Rank rank = 0; rank < 2; ++rank) {
    constexpr std::uint64_t id = 7;
    both.push_back(
        std::make_unique<runtime::Communicator>(ranks.executor(rank), id, Group(2), Hosts(2).with_board(true)));
    both.back()->share({memory, 2, rank, GetParam() ? ranks.executor(rank).doorbell() : Doorbell::Address()});
  }
  const Floats input = {1, 2};
  std::vector<Floats> output(2, Floats(2));
  must_post(*both[0], board_call(input, output[0]));
  fall_asleep(ranks.executor(0));
  both[0]->fail({Code::PeerFailed, "planted"});
  both[0].reset();
  must_post(*both[1], board_call(input, output[1]));
  EXPECT_EQ(ranks.counters(1).messages_sent, 0u);
  both[1]->fail({Code::PeerFailed, "planted"});
}

INSTANTIATE_TEST_SUITE_P(WithBells, BoardSleepers, testing::Values(true));
INSTANTIATE_TEST_SUITE_P(WithoutBells, BoardSleepers, testing::Values(false));

TEST(BoardSteps, DoNotKeepMessagesFromMoving) {
  Ranks ranks(2);
  const Floats input = {1};
  std::vector<Floats> messages(2, Floats(1)), sums(2, Floats(1));
  std::vector<runtime::Run*> receives;
  for (Rank rank = 0; rank < 2; ++rank) {
    runtime::Communicator& communicator = ranks.communicator(rank);
    receives.push_back(*communicator.post(Receive{
        .data = messages[rank].data(), .count = 1, .dtype = Dtype::F32, .from = 1 - rank, .tag = 3, .options = {}}));
    ASSERT_TRUE(communicator.post(
        Send{.data = input.data(), .count = 1, .dtype = Dtype::F32, .to = 1 - rank, .tag = 3, .options = {}}));
  }
  for (int call = 0; call < 100 && !(receives[0]->finished && receives[1]->finished); ++call) {
    runtime::Run& first = must_post(ranks, 0, board_call(input, sums[0]));
    runtime::Run& last = must_post(ranks, 1, board_call(input, sums[1]));
    ASSERT_TRUE(ranks.communicator(1).finish(last));
    ASSERT_TRUE(ranks.communicator(0).finish(first));
  }
  EXPECT_TRUE(receives[0]->finished) << "its calls end in the progress that they wait in";
  EXPECT_TRUE(receives[1]->finished) << "its calls end as they begin";
}

TEST(BoardSteps, ServeProgressThreadsThatSleepBetweenCalls) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.progress_thread = true;
  Ranks ranks(3, options);
  const Floats input = {1, 2};
  std::vector<int> right(3, 0);
  ranks.each_in_thread([&](Rank rank) {
    Floats output(2);
    for (int call = 0; call < 50; ++call) {
      if (call % 10 == rank) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      const Status status = ranks.run_on(rank, board_call(input, output));
      right[static_cast<std::size_t>(rank)] += status.is_ok() && output == Floats{3, 6};
    }
  });
  EXPECT_EQ(right, std::vector<int>(3, 50));
}

}  // namespace
}  // namespace lacuna::test
