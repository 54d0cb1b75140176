#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <span>
#include <string_view>
#include <tuple>

#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/support/environment.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// Each test runs on the ranks of a job, and on those of a group of a group.
class GroupFailures : public testing::TestWithParam<std::tuple<Progress, Origin>> {
 protected:
  static std::vector<Communicator> ranks_of(Rank size) {
    return local(size, std::get<Progress>(GetParam()), std::get<Origin>(GetParam()));
  }
};

/// Whether the message says what two of the ranks have posted, each with its root. Which two depends on who was heard
/// of first.
bool names_postings(std::string_view message, std::span<const Rank> ranks, std::span<const Rank> roots) {
  const auto posted = [&](std::size_t rank) {
    return message.find(fmt::format("rank {} posted gather linear f32 count 2 root {}", ranks[rank], roots[rank])) !=
           std::string::npos;
  };
  std::size_t named = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) named += posted(rank) ? 1 : 0;
  return message.find("differs: ") != std::string::npos && named >= 2;
}

INSTANTIATE_TEST_SUITE_P(, GroupFailures,
                         testing::Combine(testing::Values(Progress::Caller, Progress::Thread),
                                          testing::Values(Origin::World, Origin::GroupOfAGroup)),
                         [](const auto& given) {
                           return std::string(to_string(std::get<Progress>(given.param))) + "_" +
                                  to_string(std::get<Origin>(given.param));
                         });

void expect_sum(Communicator& communicator, std::size_t count) {
  std::vector<std::int32_t> data(count, communicator.rank() + 1);
  EXPECT_EQ(communicator.call(allreduce<std::int32_t>(data, data)).to_string(), "ok");
  EXPECT_EQ(data, std::vector<std::int32_t>(count, communicator.size() * (communicator.size() + 1) / 2));
}

/// On each of four ranks, fails a call of the odd half, and checks that the even half and the world continue. `text`
/// gets the numbers of that half's ranks in the job.
void expect_only_the_odd_half_to_fail(std::vector<Communicator> ranks, Code code,
                                      const std::function<std::string(Rank first, Rank second)>& text_of,
                                      const std::function<Status(Communicator& half)>& fails) {
  std::barrier all(4);
  on_each(ranks, [&](Communicator& world) {
    const std::string text = text_of(world.job_ranks()[1], world.job_ranks()[3]);
    auto half = **world.split(world.rank() % 2);
    const auto in_the_midst = world.start(barrier());
    all.arrive_and_wait();
    if (world.rank() % 2 == 1) {
      expect_error(fails(half), code, text);
    } else {
      for (int i = 0; i < 50; ++i) expect_sum(half, 1000);
    }
    all.arrive_and_wait();
    expect_sum(world, 100'000);
    EXPECT_TRUE(world.status());
    if (world.rank() % 2 == 1) return expect_error(half.status(), code, text);
    expect_sum(half, 100'000);
  });
}

TEST_P(GroupFailures, AMismatchNamesBothSidesOnItsGroupAndTheOthersGoOn) {
  expect_only_the_odd_half_to_fail(
      ranks_of(4), Code::Mismatch,
      [](Rank first, Rank second) {
        const auto [low, high] = std::minmax(first, second);
        return fmt::format("call 0 of ranks {}, {} differs: rank {} posted", low, high, low);
      },
      [](Communicator& half) {
        std::vector<float> data(half.rank() == 1 ? 99 : 100);
        return half.call(allreduce<float>(data, data));
      });
}

TEST_P(GroupFailures, ADeadlineEndsItsGroupAndTheOthersGoOn) {
  expect_only_the_odd_half_to_fail(
      ranks_of(4), Code::TimedOut,
      [](Rank first, Rank second) {
        const auto [low, high] = std::minmax(first, second);
        return fmt::format("call 0 of ranks {}, {} ran out of time on rank {}", low, high, first);
      },
      [](Communicator& half) {
        if (half.rank() == 0) return half.call(barrier({.deadline = 100ms}));
        const auto until = Clock::now() + 10s;
        while (half.status() && Clock::now() < until) half.progress();
        return half.status();
      });
}

TEST_P(GroupFailures, AMessageThatIsNeverTakenEndsItsGroupAndTheOthersGoOn) {
  const Variable fetched("LACUNA_EAGER", "0");
  expect_only_the_odd_half_to_fail(
      ranks_of(4), Code::TimedOut,
      [](Rank first, Rank second) {
        return fmt::format(
            "a message with tag 5 between ranks {0} and {1} ran out of time on rank {0}: send of 4000 bytes to rank "
            "{1} "
            "with tag 5: rank {1} has not taken it",
            first, second);
      },
      [](Communicator& half) {
        const std::vector<float> data(1000, 1);
        if (half.rank() == 0) return half.send<float>(data, 1, 5, {.deadline = 100ms});
        const auto until = Clock::now() + 10s;
        while (half.status() && Clock::now() < until) half.progress();
        return half.status();
      });
}

// Each rank names another root, so that rank 0 waits for two ranks that have ended and freed their communicators.
TEST_P(GroupFailures, RootsThatDifferAreAMismatchAlsoAfterTheOthersHaveFreedThePart) {
  const Variable soon("LACUNA_STALL", "0.1");
  auto ranks = ranks_of(3);
  std::barrier parted(3), posted(3);
  on_each(ranks, [&](Communicator& world) {
    std::optional<Communicator> part = **world.split(0);
    const Rank me = world.rank();
    const std::array<Rank, 3> roots = {0, 2, 1};
    const std::array<float, 2> mine = {1, 2};
    std::array<float, 6> all{};
    parted.arrive_and_wait();
    auto sent = part->start(gather<float>(mine, all, roots[static_cast<std::size_t>(me)], {.deadline = 5s}));
    if (!sent) {  // the others were faster
      expect_error(sent.status(), Code::Mismatch, "differs: rank ");
      return posted.arrive_and_drop();
    }
    if (me != 0) {
      EXPECT_TRUE(sent->wait());
      sent = CallRequest();
      part.reset();
    }
    posted.arrive_and_wait();
    if (me != 0) return;
    const Status ended = sent->wait();
    EXPECT_EQ(ended.code(), Code::Mismatch) << ended.to_string();
    EXPECT_TRUE(names_postings(ended.message(), world.job_ranks(), roots)) << ended.to_string();
  });
}

TEST_P(GroupFailures, RanksWhoseGroupHasFailedMayMakeAnotherOneOfTheSameRanks) {
  auto ranks = ranks_of(4);
  std::barrier all(4);
  on_each(ranks, [&](Communicator& world) {
    for (int time = 0; time < 3; ++time) {
      Communicator half = **world.split(world.rank() % 2);
      expect_sum(half, 100);
      std::vector<float> data(static_cast<std::size_t>(world.rank()) + 1);
      expect_error(half.call(allreduce<float>(data, data)), Code::Mismatch, "call 1 of ranks ");
      expect_error(half.split(0).status(), Code::Mismatch, "call 1 of ranks ");
      expect_error(half.send<float>(data, 0, 1), Code::Mismatch, "call 1 of ranks ");
      all.arrive_and_wait();
      expect_sum(world, 1000);
    }
  });
}

}  // namespace
}  // namespace lacuna
