#include "bindings/cpp/exchange.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

using Ints = std::vector<std::int64_t>;

/// What stands at place `i` of what `from` sends in a direction of its grid.
std::int64_t value(Rank from, std::size_t direction, std::size_t i, int round) {
  return from * 1000003 + static_cast<std::int64_t>(direction) * 10007 + static_cast<std::int64_t>(i) + round * 77;
}

/// How many elements `from` sends in a direction: it differs per neighbour, and may be 0.
std::size_t length(Rank from, std::size_t direction, std::size_t unit) {
  return (static_cast<std::size_t>(from) * 5 + direction * 3) % 4 * unit;
}

/// The buffers of a rank in a grid. What it must receive comes from the definition of the grid, by counting places.
struct Sides {
  std::vector<Neighbour> neighbours;
  std::vector<Ints> out, in, expected;
  std::vector<Halo> halos;

  Sides(const ProcessGrid& grid, Rank rank, std::size_t unit, int round = 0) : neighbours(grid.neighbours(rank)) {
    const auto at = grid.coordinates(rank);
    for (std::size_t place = 0; place < neighbours.size(); ++place) {
      const std::size_t d = place / 2;
      auto beside = at;
      beside[d] += place % 2 ? 1 : -1;
      const Side& side = grid.sides()[d];
      if (side.periodic) beside[d] = (beside[d] + side.length) % side.length;
      const bool nobody = beside[d] < 0 || beside[d] >= side.length;
      Rank from = 0;
      for (std::size_t e = 0; e < at.size(); ++e) from = from * grid.sides()[e].length + beside[e];
      const std::size_t back = place % 2 ? place - 1 : place + 1;
      out.emplace_back(length(rank, place, unit));
      for (std::size_t i = 0; i < out.back().size(); ++i) out.back()[i] = value(rank, place, i, round);
      in.emplace_back(nobody ? 3 : length(from, back, unit), -1);
      expected.push_back(in.back());
      for (std::size_t i = 0; !nobody && i < in.back().size(); ++i) expected.back()[i] = value(from, back, i, round);
    }
    for (std::size_t place = 0; place < neighbours.size(); ++place) halos.push_back(halo(out[place], in[place]));
  }

  Exchange exchange(int tag = 0) const { return {.neighbours = neighbours, .halos = halos, .tag = tag}; }
};

class Exchanges : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, Exchanges, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(Exchanges, EachNeighbourGetsItsHaloOnGridsOfOneToNineRanks) {
  for (Rank size = 1; size <= 9; ++size) {
    auto ranks = local(size, GetParam());
    for (int dimensions = 1; dimensions <= 3; ++dimensions) {
      for (bool periodic : {false, true}) {
        const ProcessGrid grid = *ProcessGrid::balanced(size, dimensions, periodic);
        for (std::size_t unit : {std::size_t{1}, std::size_t{1009}, std::size_t{40009}}) {
          on_each(ranks, [&](Communicator& rank) {
            Sides sides(grid, rank.rank(), unit);
            EXPECT_EQ(rank.call(sides.exchange()).to_string(), "ok");
            EXPECT_EQ(sides.in, sides.expected) << size << " ranks, " << dimensions << " dimensions";
          });
        }
      }
    }
  }
}

TEST_P(Exchanges, BytesAreThoseOfTheHalosAndNoOthers) {
  auto ranks = local(6, GetParam());
  const ProcessGrid grid = *ProcessGrid::make({{.length = 3, .periodic = true}, {.length = 2}});
  on_each(ranks, [&](Communicator& rank) {
    Sides sides(grid, rank.rank(), 100);
    const std::uint64_t before = rank.counters().payload_sent;
    ASSERT_TRUE(rank.call(sides.exchange()));
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < sides.out.size(); ++i) {
      if (sides.neighbours[i].rank != Neighbour::nobody) bytes += 8 * sides.out[i].size();
    }
    EXPECT_EQ(rank.counters().payload_sent - before, bytes);
  });
}

TEST_P(Exchanges, ATopologyServesAsWell) {
  auto ranks = local(7, GetParam());
  const Topology tree = Topology::binary_tree(7);
  on_each(ranks, [&](Communicator& rank) {
    const std::vector<Neighbour> neighbours = neighbours_of(tree, rank.rank());
    const Ints own(3, rank.rank());
    std::vector<Ints> in(neighbours.size(), Ints(3, -1));
    std::vector<Halo> halos;
    for (Ints& room : in) halos.push_back(halo(own, room));
    ASSERT_TRUE(rank.call(Exchange{.neighbours = neighbours, .halos = halos}));
    for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(in[i], Ints(3, neighbours[i].rank));
  });
}

TEST_P(Exchanges, APreparedOneStartsAgainWithWhatItsBuffersHoldThen) {
  auto ranks = local(4, GetParam());
  const ProcessGrid grid = *ProcessGrid::balanced(4, 2, true);
  on_each(ranks, [&](Communicator& rank) {
    Sides sides(grid, rank.rank(), 500);
    auto prepared = rank.prepare(sides.exchange());
    ASSERT_TRUE(prepared) << prepared.status().to_string();
    EXPECT_TRUE(prepared->test()) << "it counts as ended until its first start";
    for (int round = 0; round < 50; ++round) {
      const Sides now(grid, rank.rank(), 500, round);
      for (std::size_t i = 0; i < now.out.size(); ++i) {
        std::copy(now.out[i].begin(), now.out[i].end(), sides.out[i].begin());
      }
      ASSERT_TRUE(prepared->start());
      ASSERT_TRUE(prepared->wait());
      EXPECT_EQ(sides.in, now.expected);
    }
  });
}

TEST_P(Exchanges, APreparedOneThatRunsIsRefused) {
  auto ranks = local(2, GetParam());
  Ints out(1), in(1);
  const Neighbour neighbours[] = {{.rank = 1}};
  const Halo halos[] = {halo(out, in)};
  PreparedExchange prepared = *ranks[0].prepare(Exchange{.neighbours = neighbours, .halos = halos});
  ASSERT_TRUE(prepared.start());
  expect_error(prepared.start(), Code::InvalidArgument, "the exchange is still running");
  const Neighbour back[] = {{.rank = 0}};
  Ints other_out(1, 4), other_in(1);
  const Halo other[] = {halo(other_out, other_in)};
  Request request = *ranks[1].start(Exchange{.neighbours = back, .halos = other});
  std::vector<Request> both;
  both.push_back(std::move(request));
  both.push_back(std::move(prepared));
  finish(both);
  EXPECT_EQ(in, other_out);
  expect_error(PreparedExchange().start(), Code::InvalidArgument, "an empty request has nothing to start");
}

TEST_P(Exchanges, SeveralInFlightMeetByTagAndInOrder) {
  auto ranks = local(3, GetParam());
  const ProcessGrid grid = *ProcessGrid::balanced(3, 1, true);
  on_each(ranks, [&](Communicator& rank) {
    std::vector<Sides> all;
    for (int i = 0; i < 6; ++i) all.emplace_back(grid, rank.rank(), 300, i);
    std::vector<Request> requests;
    for (int i = 0; i < 6; ++i) {
      // Odd ranks start the two tags the other way round. Within a tag all ranks keep the order.
      const int which = rank.rank() % 2 ? (i + 3) % 6 : i;
      requests.push_back(*rank.start(all[static_cast<std::size_t>(which)].exchange(which / 3)));
    }
    Ints sum(10, 1);
    EXPECT_TRUE(rank.call(allreduce(sum)));
    EXPECT_TRUE(wait_all(requests).status);
    for (const Sides& sides : all) EXPECT_EQ(sides.in, sides.expected);
  });
}

TEST_P(Exchanges, CountsThatDoNotFitAreAMismatchOnBothSides) {
  for (const std::size_t sent : {std::size_t{3}, std::size_t{5}}) {
    auto ranks = local(3, GetParam());
    on_each(ranks, [&](Communicator& rank) {
      Ints out(rank.rank() == 1 ? sent : 4, 1), in(4);
      const Neighbour neighbours[] = {{.rank = rank.rank() == 1 ? 0 : 1}};
      const Halo halos[] = {halo(out, in)};
      Status told;
      if (rank.rank() < 2)
        told = rank.call(Exchange{.neighbours = neighbours, .halos = halos, .options = {.deadline = 20s}});
      if (rank.rank() == 0) {
        expect_error(told, Code::Mismatch,
                     "the message from rank 1 with tag 0 of a neighbour exchange, direction 0 has " +
                         std::to_string(sent) + " elements of i64; the receive takes exactly 4 of i64");
        EXPECT_EQ(rank.status().code(), Code::Mismatch) << "the communicator fails with the exchange";
      }
      for (const auto until = Clock::now() + 20s; rank.status() && Clock::now() < until;) rank.progress();
      expect_error(rank.status(), Code::Mismatch, "the receive takes exactly 4 of i64");
    });
  }
}

TEST_P(Exchanges, AnotherTypeIsAMismatchToo) {
  auto ranks = local(2, GetParam());
  on_each(ranks, [&](Communicator& rank) {
    Ints out(2), in(2);
    std::vector<double> real(2), room(2);
    const Neighbour neighbours[] = {{.rank = 1 - rank.rank()}};
    const Halo halos[] = {rank.rank() == 0 ? halo(out, in) : halo(real, room)};
    EXPECT_EQ(rank.call(Exchange{.neighbours = neighbours, .halos = halos}).code(), Code::Mismatch);
  });
}

TEST_P(Exchanges, ANeighbourThatDoesNotTakePartIsNamedAtTheDeadline) {
  auto ranks = local(2, GetParam());
  Ints out(1), in(1);
  const Neighbour neighbours[] = {{.rank = 1, .send_direction = 2, .receive_direction = 5}};
  const Halo halos[] = {halo(out, in)};
  expect_error(
      ranks[0].call(Exchange{.neighbours = neighbours, .halos = halos, .tag = 9, .options = {.deadline = 50ms}}),
      Code::TimedOut, "receive from rank 1 with tag 9 of a neighbour exchange, direction 5: no message has come");
}

TEST_P(Exchanges, TheirTagsAreNoTagsOfMessages) {
  auto ranks = local(1, GetParam());
  Ints out(1, 8), in(1), room(1);
  const Neighbour neighbours[] = {{.rank = 0}};
  const Halo halos[] = {halo(out, in)};
  auto receive = ranks[0].start_receive<std::int64_t>(room, 0, 0);
  ASSERT_TRUE(ranks[0].call(Exchange{.neighbours = neighbours, .halos = halos}));
  EXPECT_EQ(in, out);
  EXPECT_FALSE(receive->test());
  ASSERT_TRUE(ranks[0].send<std::int64_t>(std::span<const std::int64_t>(out), 0, 0));
  EXPECT_TRUE(receive->wait());
}

TEST_P(Exchanges, WhatCanNotWorkIsRefused) {
  auto ranks = local(2, GetParam());
  Ints out(1), in(1);
  const Neighbour one[] = {{.rank = 1}}, far[] = {{.rank = 2}}, turned[] = {{.rank = 1, .send_direction = 40000}};
  const Halo halos[] = {halo(out, in)};
  const auto refused = [&](const Exchange& exchange, const std::string& text) {
    expect_error(ranks[0].call(exchange), Code::InvalidArgument, text);
    expect_error(ranks[0].prepare(exchange).status(), Code::InvalidArgument, text);
  };
  refused({.neighbours = one}, "exchange: there are 0 halos for 1 neighbour: each neighbour needs one");
  refused({.neighbours = far, .halos = halos}, "exchange: receive from rank 2, must be 0 .. 1");
  refused({.neighbours = turned, .halos = halos}, "exchange: a direction of neighbour 0 is 40000, must be 0 .. 32767");
  refused({.neighbours = one, .halos = halos, .tag = 65536}, "exchange: tag is 65536, must be 0 .. 65535");
  const Neighbour both[] = {{.rank = 1, .send_direction = 3, .receive_direction = 1},
                            {.rank = Neighbour::nobody, .send_direction = 3, .receive_direction = 2},
                            {.rank = 1, .send_direction = 3, .receive_direction = 2}};
  const Halo apart[] = {{}, {}, {}};
  refused({.neighbours = both, .halos = apart},
          "exchange: neighbours 0 and 2 both send to rank 1 in direction 3; each needs a direction of its own");
  const Neighbour back[] = {{.rank = 1, .send_direction = 1, .receive_direction = 3},
                            {.rank = 1, .send_direction = 2, .receive_direction = 3}};
  refused({.neighbours = back, .halos = std::span(apart).first(2)},
          "exchange: neighbours 0 and 1 both receive from rank 1 in direction 3");
  EXPECT_TRUE(ranks[0].status());
}

/// A halo of the elements [first, first + count) of one array and of another one.
struct Place {
  std::size_t sent, send_count, received, receive_count;
};

TEST_P(Exchanges, HalosThatShareMemoryThatIsWrittenAreRefused) {
  auto ranks = local(1, GetParam());
  Ints all(100);
  const auto outcome = [&](std::initializer_list<Place> places) {
    std::vector<Neighbour> neighbours;
    std::vector<Halo> halos;
    for (const Place& place : places) {
      const auto direction = static_cast<int>(halos.size());
      neighbours.push_back({.rank = 0, .send_direction = direction, .receive_direction = direction});
      halos.push_back({&all[place.sent], place.send_count, &all[place.received], place.receive_count, Dtype::I64});
    }
    return ranks[0].call(Exchange{.neighbours = neighbours, .halos = halos});
  };
  EXPECT_TRUE(outcome({{0, 4, 4, 4}, {0, 4, 8, 4}, {2, 2, 12, 2}})) << "what is only read may overlap";
  EXPECT_TRUE(outcome({{0, 4, 4, 4}, {5, 0, 4, 0}})) << "nothing shares no memory";
  const std::string rule = "; what is received must lie apart from all else";
  expect_error(outcome({{0, 4, 3, 4}}), Code::InvalidArgument,
               "exchange: the memory of what goes to neighbour 0 overlaps that of what comes from neighbour 0" + rule);
  expect_error(outcome({{0, 4, 20, 30}, {0, 2, 50, 2}, {8, 9, 60, 9}, {0, 3, 47, 3}}), Code::InvalidArgument,
               "the memory of what comes from neighbour 0 overlaps that of what comes from neighbour 3" + rule);
  expect_error(outcome({{90, 1, 0, 30}, {91, 1, 40, 5}, {92, 1, 44, 2}}), Code::InvalidArgument,
               "the memory of what comes from neighbour 1 overlaps that of what comes from neighbour 2" + rule);
  expect_error(outcome({{0, 50, 60, 50 - 20}, {70, 1, 95, 1}}), Code::InvalidArgument,
               "the memory of what comes from neighbour 0 overlaps that of what goes to neighbour 1" + rule);
}

}  // namespace
}  // namespace lacuna
