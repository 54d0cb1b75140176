#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <numeric>
#include <set>
#include <tuple>

#include "algorithms/skip/skip.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/support/environment.hpp"
#include "transports/board.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// Each test runs on the ranks of a job, and on those of a group of a group.
class Groups : public testing::TestWithParam<std::tuple<Progress, Origin>> {
 protected:
  static std::vector<Communicator> ranks_of(Rank size) {
    return local(size, std::get<Progress>(GetParam()), std::get<Origin>(GetParam()));
  }
};
INSTANTIATE_TEST_SUITE_P(, Groups,
                         testing::Combine(testing::Values(Progress::Caller, Progress::Thread),
                                          testing::Values(Origin::World, Origin::GroupOfAGroup)),
                         [](const auto& given) {
                           return std::string(to_string(std::get<Progress>(given.param))) + "_" +
                                  to_string(std::get<Origin>(given.param));
                         });

Communicator must_split(Communicator& from, int colour, int key = 0) {
  auto made = from.split(colour, key);
  EXPECT_TRUE(made) << made.status().to_string();
  EXPECT_TRUE(made->has_value());
  return **std::move(made);
}

/// Returns the ranks of a communicator by their numbers in the world of the test, gathered by one of its collectives.
std::vector<std::int32_t> members_heard(Communicator& communicator, Rank world_rank) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(communicator.size()));
  const std::array<std::int32_t, 1> mine = {world_rank};
  EXPECT_EQ(communicator.call(allgather<std::int32_t>(mine, all)).to_string(), "ok");
  return all;
}

TEST_P(Groups, RanksOfOneColourAreTogetherInTheOrderOfTheirKeys) {
  auto ranks = ranks_of(6);
  on_each(ranks, [](Communicator& world) {
    Communicator half = must_split(world, world.rank() % 2, world.rank() < 2 ? 1 : 0);
    const std::vector<Rank> expected = world.rank() % 2 == 0 ? std::vector<Rank>{2, 4, 0} : std::vector<Rank>{3, 5, 1};
    EXPECT_EQ(half.job_ranks(), in_job(world, expected));
    EXPECT_EQ(half.size(), 3);
    EXPECT_EQ(expected[static_cast<std::size_t>(half.rank())], world.rank());
    EXPECT_EQ(half.hosts().size(), 3u);
    EXPECT_EQ(members_heard(half, world.rank()), expected);
    Communicator one = must_split(half, half.rank());
    EXPECT_EQ(one.size(), 1);
    EXPECT_EQ(members_heard(one, world.rank()), std::vector<Rank>{world.rank()});
    EXPECT_EQ(members_heard(world, world.rank()), (std::vector<Rank>{0, 1, 2, 3, 4, 5}));
  });
}

TEST_P(Groups, DataTensorAndPipelineGroupsOfOneWorldRunBesideEachOther) {
  auto ranks = ranks_of(8);
  on_each(ranks, [](Communicator& world) {
    const int tensor = world.rank() % 2, pipeline = world.rank() / 2 % 2, data = world.rank() / 4;
    Communicator groups[] = {must_split(world, 2 * pipeline + data), must_split(world, 2 * tensor + data),
                             must_split(world, 2 * tensor + pipeline)};
    const int strides[] = {1, 2, 4}, mine[] = {tensor, pipeline, data};
    std::vector<std::vector<std::int64_t>> sums(3, std::vector<std::int64_t>(5000, world.rank()));
    std::vector<Request> requests;
    for (int i : {world.rank() % 3, (world.rank() + 1) % 3, (world.rank() + 2) % 3}) {
      auto request = groups[i].start(
          allreduce<std::int64_t>(sums[static_cast<std::size_t>(i)], sums[static_cast<std::size_t>(i)]));
      ASSERT_TRUE(request) << request.status().to_string();
      requests.push_back(*std::move(request));
    }
    for (Request& request : requests) EXPECT_EQ(request.wait().to_string(), "ok");
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t sum = 2 * (world.rank() - mine[i] * strides[i]) + strides[i];
      EXPECT_EQ(sums[i], std::vector<std::int64_t>(5000, sum));
    }
  });
}

/// The algorithm that lacuna chooses for a sum of one element.
std::string_view small_sum(const Communicator& ranks) {
  std::int64_t sum = 0;
  const auto name = ranks.algorithm_name(
      {.collective = Collective::Allreduce, .input = &sum, .output = &sum, .count = 1, .dtype = Dtype::I64});
  EXPECT_TRUE(name) << name.status().to_string();
  return name ? *name : "";
}

TEST_P(Groups, SmallCallsOfAGroupPassOverABoardOfItsOwn) {
  if (!Board::shared_memory(2).memory) GTEST_SKIP() << "this system has no memory that other processes can map";
  auto ranks = ranks_of(6);
  on_each(ranks, [](Communicator& world) {
    const int colour = world.rank() % 2;
    Communicator half = must_split(world, colour);
    EXPECT_EQ(small_sum(half), "board");
    EXPECT_EQ(small_sum(world), "board");
    EXPECT_EQ(small_sum(must_split(half, half.rank())), "board") << "it is alone";
    for (std::int64_t time = 0; time < 100; ++time) {
      std::int64_t of_half = world.rank() + time, of_all = of_half;
      ASSERT_TRUE(half.call(allreduce(of_half, of_half)));
      ASSERT_EQ(of_half, (colour == 0 ? 0 + 2 + 4 : 1 + 3 + 5) + 3 * time);
      if (time % 3 != 0) continue;
      ASSERT_TRUE(world.call(allreduce(of_all, of_all)));
      ASSERT_EQ(of_all, 15 + 6 * time);
    }
  });
}

TEST(GroupBoards, RowsCountAsSentToTheOtherMembersAlsoAfterTheGroupHasEnded) {
  auto ranks = local(4, Progress::Caller, Origin::World);
  on_each(ranks, [](Communicator& world) {
    const auto sent = [&] {
      std::vector<std::uint64_t> to;
      for (Rank peer = 0; peer < 4; ++peer) to.push_back(world.counters(peer).payload_sent);
      return to;
    };
    std::vector<std::uint64_t> before;
    {
      Communicator half = must_split(world, world.rank() % 2);
      before = sent();
      std::int64_t sum = 1;
      for (int time = 0; time < 10; ++time) ASSERT_TRUE(half.call(allreduce(sum, sum)));
      before[static_cast<std::size_t>((world.rank() + 2) % 4)] += 10 * sizeof sum;
      EXPECT_EQ(sent(), before);
    }
    EXPECT_EQ(sent(), before);
  });
}

TEST(GroupBoards, AreLeftOutWhereTheEnvironmentSaysSo) {
  const Variable off("LACUNA_BOARD", "off");
  auto ranks = local(4, Progress::Caller, Origin::World);
  on_each(ranks,
          [](Communicator& world) { EXPECT_EQ(small_sum(must_split(world, world.rank() % 2)), "recursive_doubling"); });
}

TEST_P(Groups, ARankWithoutAColourGetsNoCommunicator) {
  auto ranks = ranks_of(3);
  on_each(ranks, [](Communicator& world) {
    auto made = world.split(world.rank() == 1 ? Communicator::no_group : 7);
    ASSERT_TRUE(made) << made.status().to_string();
    EXPECT_EQ(made->has_value(), world.rank() != 1);
    if (*made) {
      EXPECT_EQ((*made)->job_ranks(), in_job(world, {0, 2}));
    }
  });
}

TEST_P(Groups, ASubgroupHasTheRanksOfItsListInTheirOrder) {
  auto ranks = ranks_of(4);
  on_each(ranks, [](Communicator& world) {
    const std::vector<Rank> list = {3, 0, 2};
    auto made = world.subgroup(list);
    ASSERT_TRUE(made) << made.status().to_string();
    ASSERT_EQ(made->has_value(), world.rank() != 1);
    if (*made) {
      EXPECT_EQ(members_heard(**made, world.rank()), list);
    }
    expect_error(world.subgroup(std::array{0, 4}).status(), Code::InvalidArgument,
                 "rank 4 is not in this communicator");
    expect_error(world.subgroup(std::array{2, 2}).status(), Code::InvalidArgument, "rank 2 stands twice");
    EXPECT_TRUE(world.status());
  });
}

TEST_P(Groups, AnEmptySubgroupIsACallOfAllRanksThatGivesNobodyACommunicator) {
  auto ranks = ranks_of(3);
  on_each(ranks, [](Communicator& world) {
    const auto made = world.subgroup({});
    ASSERT_TRUE(made) << made.status().to_string();
    EXPECT_FALSE(*made);
    EXPECT_EQ(world.call(barrier()).to_string(), "ok");
  });
}

TEST_P(Groups, AGroupOutlivesTheCommunicatorThatItCameFrom) {
  auto ranks = ranks_of(4);
  on_each(ranks, [](Communicator& world) {
    const Rank me = world.rank();
    Communicator half = must_split(world, me / 2);
    { const Communicator gone = std::move(world); }
    EXPECT_EQ(members_heard(half, me), (std::vector<Rank>{me / 2 * 2, me / 2 * 2 + 1}));
  });
}

TEST_P(Groups, ARankOutsideMayLeaveWhileAGroupGoesOn) {
  const test::Variable changed("LACUNA_STALL", "0.05");
  auto ranks = ranks_of(3);
  on_each(ranks, [](Communicator& world) {
    const Rank me = world.rank();
    auto made = world.subgroup(std::array{0, 1});
    ASSERT_TRUE(made) << made.status().to_string();
    if (!*made) {
      const Communicator gone = std::move(world);
      return;
    }
    if (me == 1) std::this_thread::sleep_for(300ms);  // long enough to count as stalled
    EXPECT_EQ(members_heard(**made, me), (std::vector<Rank>{0, 1}));
  });
}

TEST_P(Groups, MessagesGoToTheRanksOfTheirGroupAndAProbeSeesThoseOfItsRank) {
  auto ranks = ranks_of(6);
  on_each(ranks, [](Communicator& world) {
    Communicator half = must_split(world, world.rank() % 2, -world.rank());
    const Rank next = (half.rank() + 1) % 3, before = (half.rank() + 2) % 3;
    const std::vector<std::int32_t> mine(static_cast<std::size_t>(half.rank()) + 1, world.rank());
    std::vector<std::int32_t> theirs(static_cast<std::size_t>(before) + 1);
    ASSERT_TRUE(half.send<std::int32_t>(mine, next, 4));
    const auto until = Clock::now() + 10s;
    auto waiting = half.probe(before, 4);
    while (waiting && !*waiting && Clock::now() < until) waiting = half.probe(before, 4);
    ASSERT_TRUE(waiting) << waiting.status().to_string();
    EXPECT_EQ(*waiting, std::optional(4 * theirs.size()));
    for (Rank silent : {half.rank(), next}) EXPECT_EQ(*half.probe(silent, 4), std::nullopt) << silent;
    const auto received = half.receive<std::int32_t>(theirs, before, 4);
    EXPECT_TRUE(received) << received.status().to_string();
    EXPECT_EQ(theirs, std::vector<std::int32_t>(theirs.size(), (world.rank() + 2) % 6));
    expect_error(half.probe(3, 4).status(), Code::InvalidArgument, "probe of rank 3, must be 0 .. 2");
  });
}

TEST_P(Groups, TextsOfRequestsNameRanksOfTheJob) {
  const Variable fetched("LACUNA_EAGER", "0");
  auto ranks = ranks_of(3);
  const auto of_job = [&](std::size_t rank) { return fmt::format("rank {}", ranks[0].job_ranks()[rank]); };
  std::vector<std::vector<float>> data(3, std::vector<float>(10, 1));
  const auto expect_wait = [](Request& request, std::string_view end) {
    const std::string text(request.wait(1ms).message());
    EXPECT_TRUE(text.ends_with(end)) << text;
  };
  std::vector<Request> requests;
  requests.push_back(*ranks[0].start(allreduce<float>(data[0], data[0])));
  const std::string missing(requests[0].wait(1ms).message());
  EXPECT_TRUE(missing.ends_with("row of " + of_job(1) + " on the board") || missing.ends_with(" from " + of_job(1)))
      << missing;
  for (std::size_t i : {1, 2}) requests.push_back(*ranks[i].start(allreduce<float>(data[i], data[i])));
  finish(requests);
  requests.clear();
  requests.push_back(*ranks[0].start_receive<float>(data[0], 1, 6));
  expect_wait(requests[0], ": receive from " + of_job(1) + " with tag 6: no message has come");
  requests.push_back(*ranks[2].start_send<float>(std::span<const float>(data[2]), 0, 4));
  expect_wait(requests[1], ": send of 40 bytes to " + of_job(0) + " with tag 4: " + of_job(0) + " has not taken it");
  requests.push_back(*ranks[1].start_send<float>(std::span<const float>(data[1]), 0, 6));
  std::vector<float> room(10);
  auto receive = *ranks[0].start(Receive{.data = room.data(), .count = 10, .from = any_rank, .tag = 4});
  finish(requests);
  EXPECT_TRUE(receive.wait());
  EXPECT_EQ(receive.source(), 2) << "of the group, as programs name ranks";
}

/// Each rank sends each other rank a number of bytes that only this pair has.
TEST_P(Groups, CountersOfAPeerAreThoseOfTheRankThatHasItsNumberInTheGroup) {
  auto ranks = ranks_of(4);
  on_each(ranks, [](Communicator& group) {
    const auto bytes_of = [](Rank from, Rank to) {
      return from == to ? std::size_t{0} : static_cast<std::size_t>(100 * (from + 1) + 10 * to);
    };
    const Rank me = group.rank();
    std::vector<Counters> before;
    for (Rank peer = 0; peer < group.size(); ++peer) before.push_back(group.counters(peer));
    const Counters all_before = group.counters();
    EXPECT_EQ(group.call(barrier()).to_string(), "ok") << "nobody has sent anything before";
    std::vector<std::vector<std::uint8_t>> buffers;
    std::vector<Request> requests;
    std::size_t sent = 0, received = 0;
    for (Rank peer = 0; peer < group.size(); ++peer) {
      if (peer == me) continue;
      requests.push_back(*group.start_receive<std::uint8_t>(buffers.emplace_back(bytes_of(peer, me)), peer, 1));
      requests.push_back(*group.start_send<std::uint8_t>(buffers.emplace_back(bytes_of(me, peer)), peer, 1));
      sent += bytes_of(me, peer);
      received += bytes_of(peer, me);
    }
    for (Request& request : requests) EXPECT_EQ(request.wait().to_string(), "ok");
    EXPECT_EQ(group.call(barrier()).to_string(), "ok");
    for (Rank peer = 0; peer < group.size(); ++peer) {
      const Counters now = group.counters(peer), &then = before[static_cast<std::size_t>(peer)];
      EXPECT_EQ(now.payload_sent - then.payload_sent, bytes_of(me, peer)) << me << " to " << peer;
      EXPECT_EQ(now.payload_received - then.payload_received, bytes_of(peer, me)) << peer << " to " << me;
    }
    EXPECT_EQ(group.counters().payload_sent - all_before.payload_sent, sent);
    EXPECT_EQ(group.counters().payload_received - all_before.payload_received, received);
  });
}

/// Whose terms are missing where on rank 0.
using Missing = std::vector<std::pair<Rank, std::size_t>>;

/// Returns what is missing after calls that leave out terms by a draw.
Missing missing_in_calls(Communicator& communicator) {
  Missing missing;
  for (int i = 0; i < 8; ++i) {
    std::vector<float> data(64, 1);
    auto request = communicator.start(allreduce<float>(
        data, data, Reduction::Sum, {.algorithm = "ring", .method = skip({.steps = 1, .mode = SkipMode::Random})}));
    EXPECT_TRUE(request) << request.status().to_string();
    EXPECT_TRUE(request->wait());
    const auto gaps = request->gaps(0);
    EXPECT_TRUE(gaps) << gaps.status().to_string();
    for (const Gap& gap : *gaps) missing.emplace_back(gap.from, gap.offset);
  }
  EXPECT_GE(missing.size(), 8u) << "nothing was left out";
  return missing;
}

TEST_P(Groups, PartsOfSuccessiveSplitsOfAllColoursDrawDifferently) {
  std::vector<Missing> of_job[2];
  for (auto& drawn : of_job) {
    auto ranks = ranks_of(6);
    std::mutex mutex;
    on_each(ranks, [&](Communicator& world) {
      std::vector<Missing> mine = {missing_in_calls(world)};
      for (int time = 0; time < 3; ++time) {
        Communicator all = must_split(world, 0);
        mine.push_back(missing_in_calls(all));
        Communicator again = must_split(all, 0);
        mine.push_back(missing_in_calls(again));
      }
      Communicator other = must_split(world, 1);
      mine.push_back(missing_in_calls(other));
      const std::lock_guard lock(mutex);
      if (world.rank() == 0) drawn = mine;
    });
    EXPECT_EQ(drawn.size(), 8u);
    EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), drawn.size()) << "two communicators draw alike";
  }
  EXPECT_EQ(of_job[0], of_job[1]) << "two jobs that do the same draw alike";
}

}  // namespace
}  // namespace lacuna
