#include <gtest/gtest.h>

#include <array>
#include <barrier>

#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/support/environment.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

class GroupFailures : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, GroupFailures, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

void expect_sum(Communicator& communicator, std::size_t count) {
  std::vector<std::int32_t> data(count, communicator.rank() + 1);
  EXPECT_EQ(communicator.call(allreduce<std::int32_t>(data, data)).to_string(), "ok");
  EXPECT_EQ(data, std::vector<std::int32_t>(count, communicator.size() * (communicator.size() + 1) / 2));
}

/// On each of four ranks: fails a call of the odd half, and sees that the even half and the world go on.
void expect_only_the_odd_half_to_fail(Progress progress, Code code, const std::string& text,
                                      const std::function<Status(Communicator& half)>& fails) {
  auto ranks = local(4, progress);
  std::barrier all(4);
  on_each(ranks, [&](Communicator& world) {
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
  expect_only_the_odd_half_to_fail(GetParam(), Code::Mismatch, "call 0 of ranks 1, 3 differs: rank 1 posted",
                                   [](Communicator& half) {
                                     std::vector<float> data(half.rank() == 1 ? 99 : 100);
                                     return half.call(allreduce<float>(data, data));
                                   });
}

TEST_P(GroupFailures, ADeadlineEndsItsGroupAndTheOthersGoOn) {
  expect_only_the_odd_half_to_fail(GetParam(), Code::TimedOut, "call 0 of ranks 1, 3 ran out of time on rank 1",
                                   [](Communicator& half) {
                                     if (half.rank() == 0) return half.call(barrier({.deadline = 100ms}));
                                     const auto until = Clock::now() + 10s;
                                     while (half.status() && Clock::now() < until) half.progress();
                                     return half.status();
                                   });
}

TEST_P(GroupFailures, AMessageThatIsNeverTakenEndsItsGroupAndTheOthersGoOn) {
  const Variable fetched("LACUNA_EAGER", "0");
  expect_only_the_odd_half_to_fail(GetParam(), Code::TimedOut, "a message with tag 5 between ranks 1 and 3 ran out",
                                   [](Communicator& half) {
                                     const std::vector<float> data(1000, 1);
                                     if (half.rank() == 0) return half.send<float>(data, 1, 5, {.deadline = 100ms});
                                     const auto until = Clock::now() + 10s;
                                     while (half.status() && Clock::now() < until) half.progress();
                                     return half.status();
                                   });
}

// Each names another root, so that rank 0 waits for two ranks that have ended and freed the part.
TEST_P(GroupFailures, RootsThatDifferAreAMismatchAlsoAfterTheOthersHaveFreedThePart) {
  const Variable soon("LACUNA_STALL", "0.1");
  auto ranks = local(3, GetParam());
  std::barrier parted(3), posted(3);
  on_each(ranks, [&](Communicator& world) {
    std::optional<Communicator> part = **world.split(0);
    const Rank me = world.rank();
    const std::array<Rank, 3> roots = {0, 2, 1};
    const std::array<float, 2> mine = {1, 2};
    std::array<float, 6> all{};
    parted.arrive_and_wait();
    auto sent =
        part->start(gather<float>(mine, all, me == 0 ? 0 : roots[static_cast<std::size_t>(me)], {.deadline = 5s}));
    if (!sent) {  // the others were faster
      expect_error(sent.status(), Code::Mismatch, "differs: rank ");
      return posted.arrive_and_drop();
    }
    if (me != 0) {
      EXPECT_TRUE(sent->wait());
      sent = Request();
      part.reset();
    }
    posted.arrive_and_wait();
    if (me != 0) return;
    const Status ended = sent->wait();
    expect_error(ended, Code::Mismatch, "differs: rank 0 posted gather");
    expect_error(ended, Code::Mismatch, "root 0; rank ");
  });
}

}  // namespace
}  // namespace lacuna
