#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>
#include <random>

#include "algorithms/topology/process_grid.hpp"
#include "runtime/engine/batch.hpp"
#include "tests/support/calls.hpp"

// Messages that begin together, and receives from any rank, under drawn orders of arrival.
namespace lacuna::test {
namespace {

using Ints = std::vector<std::int32_t>;

Ints numbers(std::size_t count, std::int32_t first) {
  Ints all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

RanksOptions drawn(std::uint64_t seed) {
  RanksOptions options{.network = {.seed = seed, .eager_limit = 64}, .executor = quick_executor()};
  options.network.sends = seed % 2 ? InprocOptions::Sends::Referenced : InprocOptions::Sends::Copied;
  options.executor.eager_bytes = seed % 3 == 0 ? 0 : 1 << 20;
  options.executor.credit_bytes = seed % 5 == 0 ? 700 : 1 << 20;
  return options;
}

/// One exchange of a rank, with what its neighbours are to send.
struct Side {
  std::vector<Neighbour> neighbours;
  std::vector<Ints> out, in, expected;
  std::vector<Halo> halos;
  runtime::Run* run = nullptr;

  Side(const ProcessGrid& grid, Rank rank, int round) : neighbours(grid.neighbours(rank)) {
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      out.push_back(part(rank, i, round));
      const Rank from = neighbours[i].rank;
      expected.push_back(from == Neighbour::nobody ? Ints() : part(from, i ^ 1, round));
      in.emplace_back(expected.back().size(), -1);
    }
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      halos.push_back({out[i].data(), out[i].size(), in[i].data(), in[i].size(), Dtype::I32});
    }
  }

  static Ints part(Rank from, std::size_t place, int round) {
    return numbers((static_cast<std::size_t>(from) + 7 * place) % 80,
                   from * 10000 + static_cast<int>(place) * 1000 + round);
  }
};

std::string exchange_all(std::uint64_t seed) {
  const auto size = static_cast<Rank>(1 + seed % 9);
  Ranks ranks(size, drawn(seed));
  const ProcessGrid grid = *ProcessGrid::balanced(size, 1 + static_cast<int>(seed % 3), seed % 4 < 2);
  std::mt19937_64 random(seed);
  constexpr int rounds = 3;
  std::vector<std::vector<Side>> sides(static_cast<std::size_t>(size));
  std::vector<int> begun(static_cast<std::size_t>(size));
  for (Rank rank = 0; rank < size; ++rank) {
    for (int round = 0; round < rounds; ++round) sides[static_cast<std::size_t>(rank)].emplace_back(grid, rank, round);
  }
  for (int left = size * rounds; left > 0;) {
    if (random() % 3 == 0) ranks.sweep();
    const auto rank = static_cast<std::size_t>(random() % static_cast<std::uint64_t>(size));
    if (begun[rank] == rounds) continue;
    Side& side = sides[rank][static_cast<std::size_t>(begun[rank]++)];
    --left;
    auto posted =
        ranks.communicator(static_cast<Rank>(rank)).post(Exchange{.neighbours = side.neighbours, .halos = side.halos});
    if (!posted) return posted.status().to_string();
    side.run = *posted;
  }
  const auto all = [&](auto holds) {
    for (auto& of_rank : sides) {
      for (Side& side : of_rank) {
        if (side.run && !holds(side)) return false;
      }
    }
    return true;
  };
  if (!ranks.sweep_until([&] { return all([](Side& side) { return runtime::has_ended(*side.run); }); })) {
    return "nothing moves any more";
  }
  if (!all([](Side& side) { return runtime::outcome(*side.run).is_ok(); })) return "an exchange has failed";
  return all([](Side& side) { return side.in == side.expected; }) ? "" : "wrong numbers";
}

TEST(Batches, UnderDrawnOrdersEveryExchangeGetsTheHalosOfItsRound) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) ASSERT_EQ(exchange_all(seed), "") << "seed " << seed;
}

/// Ranks 1 .. 3 send to rank 0, which receives some messages by name and some from any rank. The oracle matches by the
/// rules only: what a sender has sent with one tag must come in its order.
std::string receive_any(std::uint64_t seed) {
  constexpr Rank size = 4;
  constexpr std::size_t each = 8;
  Ranks ranks(size, drawn(seed));
  std::mt19937_64 random(seed);
  std::deque<Ints> out, in;
  std::array<std::size_t, size> sent{};
  std::vector<std::pair<Rank, runtime::Run*>> receives;  // the rank that was asked for
  std::size_t left_sends = 3 * each, left_receives = 3 * each;
  std::size_t named_left = 6;
  const auto send = [&](std::size_t from) {
    out.emplace_back(1 + random() % 40, static_cast<std::int32_t>(from * 100 + sent[from]++));
    const Ints& data = out.back();
    return ranks.communicator(static_cast<Rank>(from)).post(Send{data.data(), data.size(), Dtype::I32, 0, 64}).status();
  };
  while (left_sends + left_receives > 0) {
    if (random() % 3 == 0) ranks.sweep();
    if (random() % 2 == 0 && left_sends > 0) {
      const auto from = static_cast<std::size_t>(1 + random() % 3);
      if (sent[from] == each) continue;
      if (!send(from)) return "a send is refused";
      --left_sends;
    } else if (left_receives > 0) {
      Rank from = any_rank;
      if (named_left > 0 && random() % 3 == 0) {
        from = static_cast<Rank>(1 + named_left-- % 3);
      }
      in.emplace_back(64, -1);
      --left_receives;
      auto posted = ranks.communicator(0).post(Receive{in.back().data(), 64, Dtype::I32, from, 64});
      if (!posted) return posted.status().to_string();
      receives.emplace_back(from, *posted);
    }
  }
  const auto ended = [](const auto& receive) { return receive.second->finished; };
  const auto all_have = [&] { return std::all_of(receives.begin(), receives.end(), ended); };
  // Receives from any rank may have taken what a named one waits for, so its sender sends more.
  while (!ranks.sweep_until(all_have)) {
    const auto open = std::find_if_not(receives.begin(), receives.end(), ended);
    if (open->first == any_rank) return "nothing moves any more";
    if (!send(static_cast<std::size_t>(open->first))) return "a send is refused";
    if (out.size() > 40) return "a named receive takes nothing";
  }
  std::array<std::size_t, size> got{};
  for (std::size_t i = 0; i < receives.size(); ++i) {
    const Rank source = ranks.communicator(0).source(*receives[i].second);
    if (receives[i].first != any_rank && source != receives[i].first) return "a message of another rank";
    const auto from = static_cast<std::size_t>(source);
    // Receives of one sender's messages were posted in this order, so they get its messages in order.
    if (in[i][0] != static_cast<std::int32_t>(from * 100 + got[from]++)) return "out of order";
  }
  return "";
}

TEST(ReceivesFromAnyRank, UnderDrawnOrdersMessagesOfOneSenderComeInOrderAlsoBesideNamedReceives) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) ASSERT_EQ(receive_any(seed), "") << "seed " << seed;
}

TEST(ReceivesFromAnyRank, TheEarliestReceiveThatFitsTakesTheMessage) {
  for (bool any_first : {false, true}) {
    Ranks ranks(3);
    Ints first(1), second(1);
    const Ints data = {5};
    const Rank one = any_first ? any_rank : 1, two = any_first ? 1 : any_rank;
    auto a = ranks.communicator(0).post(Receive{first.data(), 1, Dtype::I32, one});
    auto b = ranks.communicator(0).post(Receive{second.data(), 1, Dtype::I32, two});
    ASSERT_TRUE(ranks.communicator(1).post(Send{data.data(), 1, Dtype::I32, 0}));
    ASSERT_TRUE(ranks.sweep_until([&] { return (*a)->finished; }));
    EXPECT_FALSE((*b)->finished);
    EXPECT_EQ(first, data);
    EXPECT_EQ(ranks.communicator(0).source(**a), 1);
    EXPECT_EQ(ranks.communicator(0).source(**b), any_rank) << "it has not ended";
  }
}

TEST(ReceivesFromAnyRank, TheMessageThatHasWaitedLongestIsTakenFirst) {
  Ranks ranks(4);
  for (Rank from : {2, 3, 1}) {
    const Ints data = {from};
    auto send = ranks.communicator(from).post(Send{data.data(), 1, Dtype::I32, 0, 7});
    ASSERT_TRUE(ranks.sweep_until([&] { return (*send)->finished; }));
    ranks.sweep_until([] { return false; });
  }
  for (Rank from : {2, 3, 1}) {
    Ints got(1);
    auto receive = ranks.communicator(0).post(Receive{got.data(), 1, Dtype::I32, any_rank, 7});
    ASSERT_TRUE(ranks.sweep_until([&] { return (*receive)->finished; }));
    EXPECT_EQ(got, Ints{from});
  }
}

TEST(ReceivesFromAnyRank, OneThatNoMessageMeetsEndsAtItsDeadline) {
  Ranks ranks(2);
  Ints got(1);
  auto receive = ranks.communicator(0).post(Receive{.data = got.data(),
                                                    .count = 1,
                                                    .dtype = Dtype::I32,
                                                    .from = any_rank,
                                                    .tag = 3,
                                                    .options = {.deadline = std::chrono::milliseconds(20)}});
  ASSERT_TRUE(ranks.sweep_for(std::chrono::seconds(20), [&] { return (*receive)->finished; }));
  EXPECT_EQ((*receive)->status.code(), Code::TimedOut);
  EXPECT_NE((*receive)->status.message().find("receive from any rank with tag 3: no message has come"),
            std::string::npos);
  const Ints data = {1};
  auto again = ranks.communicator(0).post(Receive{got.data(), 1, Dtype::I32, any_rank, 3});
  ASSERT_TRUE(ranks.communicator(1).post(Send{data.data(), 1, Dtype::I32, 0, 3}));
  ASSERT_TRUE(ranks.sweep_until([&] { return (*again)->finished; })) << "the first receive takes nothing any more";
  EXPECT_EQ(got, data);
}

TEST(ReceivesFromAnyRank, AMessageThatDoesNotFitEndsItAndTellsFromWhomItCame) {
  Ranks ranks(3);
  Ints got(1);
  const Ints data = {1, 2};
  auto receive = ranks.communicator(0).post(Receive{got.data(), 1, Dtype::I32, any_rank});
  ASSERT_TRUE(ranks.communicator(2).post(Send{data.data(), 2, Dtype::I32, 0}));
  ASSERT_TRUE(ranks.sweep_until([&] { return (*receive)->finished; }));
  EXPECT_EQ((*receive)->status.code(), Code::Mismatch);
  EXPECT_NE((*receive)->status.message().find("the message from rank 2 with tag 0 has 2 elements"), std::string::npos);
  EXPECT_EQ(ranks.communicator(0).source(**receive), any_rank);
}

TEST(Batches, MoreThanTheLimitInFlightAnswersBusyAndNothingIsSent) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.max_messages = 3;
  Ranks ranks(1, options);
  const ProcessGrid grid = *ProcessGrid::balanced(1, 1, true);  // two sends and two receives
  Side side(grid, 0, 0);
  const auto posted = ranks.communicator(0).post(Exchange{.neighbours = side.neighbours, .halos = side.halos});
  EXPECT_EQ(posted.status().code(), Code::Busy);
  EXPECT_EQ(posted.status().message(),
            "unfinished messages: 0 and 4 would be added; at most 3 are allowed (LACUNA_MAX_MESSAGES)");
}

}  // namespace
}  // namespace lacuna::test
