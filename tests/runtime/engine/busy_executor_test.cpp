#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <memory>
#include <optional>

#include "tests/runtime/job/watch_job.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/lone_rank.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;

constexpr auto long_enough = 20s;  // the time limit for what must not wait

/// A place where a thread of the test stops until the test lets it go on.
struct Stop {
  std::latch reached{1}, may_go_on{1};

  void pass() {
    reached.count_down();
    may_go_on.wait();
  }
};
std::unique_ptr<Stop> stop;

std::size_t one_element(const PartView&) {
  if (stop) stop->pass();
  return 1;
}

struct Touch {
  static constexpr std::string_view name = "touch";
  Read from;
  Write kept, to;

  Status operator()(const KernelCall&) const { return {}; }
};

const Algorithm slow_to_build = {
    .collective = Collective::Allreduce,
    .name = "slow_to_build",
    .summary = "a test's",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          if (stop) stop->pass();
          g.copy(g.output(), g.input());
        },
};

const Algorithm slow_to_make_an_array = {
    .collective = Collective::Allreduce,
    .name = "slow_to_make_an_array",
    .summary = "a test's",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          const Region kept = g.buffer({.role = Role::State, .capacity = one_element, .name = "kept"});
          g.kernel(Touch{.from = g.input(), .kept = kept, .to = g.output()});
        },
};

/// A rank that posts a call on a thread of its own. The thread stops where the algorithm of the call stops.
struct SlowPost {
  explicit SlowPost(const Algorithm& algorithm) {
    stop = std::make_unique<Stop>();
    Call call = allreduce_call(input, output);
    call.options.state = &state;
    posted = std::async(std::launch::async,
                        [this, call, &algorithm] { return ranks.communicator(0).post(call, algorithm); });
    stop->reached.wait();
  }
  ~SlowPost() { stop.reset(); }

  Result<runtime::Run*> go_on() {
    stop->may_go_on.count_down();
    return posted.get();
  }

  std::vector<float> input = {1, 2}, output = {0, 0};
  MethodState state;
  Ranks ranks{1};
  std::future<Result<runtime::Run*>> posted;
};

TEST(BusyExecutor, TellsTheWatchWhatWasPostedWhileItsLockIsHeld) {
  LoneRank rank;
  const std::vector<float> input(4, 1);
  std::vector<float> output(4);
  must_post(rank.communicator, allreduce_call(input, output));
  std::future<std::optional<runtime::Posted>> told;
  {
    const runtime::Executor::Lock lock(rank.executor);
    told = std::async(std::launch::async, [&] { return rank.executor.posted(LoneRank::id, 0); });
    EXPECT_EQ(told.wait_for(long_enough), std::future_status::ready);
  }
  const auto posted = told.get();
  ASSERT_TRUE(posted);
  EXPECT_EQ(posted->text, "allreduce ring f32 count 4 sum");
}

TEST(BusyExecutor, ItsLockIsFreeWhileAGraphOrAnArrayOfAStateIsMade) {
  for (const Algorithm* algorithm : {&slow_to_build, &slow_to_make_an_array}) {
    SlowPost slow(*algorithm);
    auto counted = std::async(std::launch::async, [&] { return slow.ranks.executor(0).job_counters().size; });
    EXPECT_EQ(counted.wait_for(long_enough), std::future_status::ready) << algorithm->name;
    const auto run = slow.go_on();
    ASSERT_TRUE(run) << algorithm->name;
    EXPECT_TRUE(slow.ranks.communicator(0).finish(**run)) << algorithm->name;
  }
}

TEST(BusyExecutor, ACallWhoseCommunicatorFailsMeanwhileIsRefusedAndHasChangedNothing) {
  SlowPost slow(slow_to_make_an_array);
  slow.ranks.communicator(0).fail({Code::TimedOut, "over"});
  const auto run = slow.go_on();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.status().to_string(), "timed out: over");
  EXPECT_EQ(slow.state.runs, 0u);
  EXPECT_FALSE(slow.state.in_use);
}

TEST(BusyExecutor, AStateWhoseArraysAreBeingMadeServesNoOtherCall) {
  SlowPost slow(slow_to_make_an_array);
  EXPECT_EQ(slow.state.restore(*MethodState().save()).code(), Code::Busy);
  const auto run = slow.go_on();
  ASSERT_TRUE(run);
  EXPECT_TRUE(slow.ranks.communicator(0).finish(**run));
  EXPECT_TRUE(slow.state.restore(*MethodState().save()));
}

TEST(BusyExecutor, ACallWithoutMemoryForAnArrayIsRefusedAndMayBeRepeated) {
  static bool is_short;
  static const Algorithm hungry = {
      .collective = Collective::Allreduce,
      .name = "hungry",
      .summary = "a test's",
      .symmetric = true,
      .build =
          [](GraphBuilder& g) {
            const auto room = [](const PartView&) -> std::size_t { return is_short ? throw std::bad_alloc() : 1; };
            const Region kept = g.buffer({.role = Role::State, .capacity = room, .name = "kept"});
            g.kernel(Touch{.from = g.input(), .kept = kept, .to = g.output()});
          },
  };
  is_short = true;
  Ranks ranks(1);
  MethodState state;
  const std::vector<float> input(4, 1);
  std::vector<float> output(4);
  Call call = allreduce_call(input, output);
  call.options.state = &state;
  const auto refused = ranks.communicator(0).post(call, hungry);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.status().to_string(), "internal error: rank 0 is out of memory");
  is_short = false;
  const auto run = ranks.communicator(0).post(call, hungry);
  ASSERT_TRUE(run) << run.status().to_string();
  EXPECT_TRUE(ranks.communicator(0).finish(**run));
}

/// Two ranks with watches over real connections. The test keeps the executor of rank 1 busy.
TEST(BusyExecutor, IsNotTakenForDeadAndItsWatchTellsWhatItHasPosted) {
  constexpr auto silence = 400ms;
  Ranks ranks(2);
  const ReservedPort port;
  runtime::Membership memberships[2];
  std::thread other([&] { memberships[1] = runtime::enter(1, 2, port.store(), silence); });
  memberships[0] = runtime::enter(0, 2, port.store(), silence);
  other.join();
  std::unique_ptr<runtime::Watch> watches[2];
  for (const Rank rank : {0, 1}) {
    watches[rank] = *runtime::Watch::start(memberships[rank], ranks.executor(rank), {.gather = 60s, .fallback = 60s});
  }
  const std::uint64_t id = ranks.communicator(0).id();
  {
    const runtime::Executor::Lock lock(ranks.executor(1));
    watches[0]->report({.kind = runtime::Trouble::Kind::Expired, .communicator = id, .run = 0, .text = "barrier"});
    const auto until = runtime::Clock::now() + long_enough;
    while (ranks.communicator(0).status() && runtime::Clock::now() < until) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(3 * silence);  // now the verdict on rank 1 waits for the lock as well
  }
  for (const Rank rank : {0, 1}) {
    ranks.sweep_for(long_enough, [&] { return !ranks.communicator(rank).status(); });
    EXPECT_EQ(ranks.communicator(rank).status().to_string(),
              "timed out: call 0 ran out of time on rank 0: barrier; ranks 0, 1 have not posted it");
  }
  for (auto& watch : watches) watch->leave({});
}

}  // namespace
}  // namespace lacuna::test
