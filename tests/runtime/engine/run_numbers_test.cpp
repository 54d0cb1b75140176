#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/job/agreement.hpp"
#include "runtime/job/inquiry.hpp"
#include "tests/runtime/job/watch_job.hpp"
#include "tests/support/calls.hpp"

// The numbers of a communicator's calls wrap around at 2^32.
namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

constexpr std::uint32_t start = 0u - 100;

RanksOptions from_start(std::uint32_t max_runs = 16) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.first_run = start;
  options.executor.max_runs = max_runs;
  return options;
}

TEST(RunNumbers, ThreeHundredCallsGoOverTheWrap) {
  Ranks ranks(3, from_start());
  for (int i = 0; i < 300; ++i) {
    const auto value = static_cast<float>(i);
    std::vector<Floats> data(3, Floats(10, value)), sums(3, Floats(10));
    std::vector<Call> calls;
    for (Rank rank = 0; rank < 3; ++rank) {
      Floats& mine = data[static_cast<std::size_t>(rank)];
      calls.push_back(i % 2 == 0 ? allreduce_call(mine, sums[static_cast<std::size_t>(rank)])
                                 : broadcast_call(mine, static_cast<Rank>(i % 3)));
    }
    for (const Status& status : ranks.run(calls)) ASSERT_TRUE(status) << "call " << i << ": " << status.to_string();
    if (i % 2 == 0) {
      ASSERT_EQ(sums, std::vector<Floats>(3, Floats(10, 3 * value)));
    }
  }
  EXPECT_EQ(ranks.executor(1).reached()[0].next_run, 200u);
}

/// Rank 0 is ahead of the others by as many calls as are allowed.
TEST(RunNumbers, MessagesOfCallsToComeWaitOverTheWrap) {
  Ranks ranks(2, from_start(1024));
  std::vector<Floats> sent(300), got(300, Floats(10));
  std::vector<runtime::Run*> runs;
  for (std::size_t i = 0; i < 300; ++i) {
    sent[i] = Floats(10, static_cast<float>(i));
    runs.push_back(&must_post(ranks, 0, broadcast_call(sent[i], 0)));
  }
  ranks.sweep_until([] { return false; });
  for (std::size_t i = 0; i < 300; ++i) runs.push_back(&must_post(ranks, 1, broadcast_call(got[i], 0)));
  ASSERT_TRUE(ranks.sweep_until(
      [&] { return std::all_of(runs.begin(), runs.end(), [](const auto* run) { return run->finished; }); }));
  EXPECT_EQ(got, sent);
}

TEST(RunNumbers, APreparedCallIsStartedOverTheWrap) {
  Ranks ranks(2, from_start());
  Floats data[2] = {Floats(10), Floats(10)};
  runtime::Run* runs[2];
  for (Rank rank : {0, 1}) {
    const Call call = broadcast_call(data[rank], 0);
    runs[rank] = *ranks.communicator(rank).prepare(call, **select_algorithm(call, Hosts(2)));
  }
  for (int i = 0; i < 300; ++i) {
    data[0].assign(10, static_cast<float>(i));
    for (Rank rank : {0, 1}) ASSERT_TRUE(ranks.communicator(rank).start(*runs[rank]));
    ASSERT_TRUE(ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
    ASSERT_EQ(data[1], data[0]);
  }
  for (Rank rank : {0, 1}) ranks.communicator(rank).release(*runs[rank]);
}

TEST(RunNumbers, TheLimitOfCallsIsKeptAndTheOldestIsNamedOverTheWrap) {
  Ranks ranks(2, from_start(4));
  Floats data(10), late(10);
  for (int i = 0; i < 98; ++i) {
    Floats other(10);
    for (const Status& status : ranks.run({broadcast_call(data, 0), broadcast_call(other, 0)})) ASSERT_TRUE(status);
  }
  must_post(ranks, 0, broadcast_call(late, 1));  // call 2^32 - 2, which does not end
  for (int i = 0; i < 3; ++i) must_post(ranks, 0, broadcast_call(data, 0));
  const Status busy = ranks.post(0, broadcast_call(data, 0)).status();
  EXPECT_EQ(busy.code(), Code::Busy);
  EXPECT_NE(busy.message().find("call 4294967294 has not ended, and 3 calls started after it"), std::string::npos)
      << busy.to_string();
}

TEST(RunNumbers, TheDeadlineEndsTheOldestCallFirstOverTheWrap) {
  RanksOptions options = from_start();
  options.executor.stall = 20ms;
  Ranks ranks(2, options);
  std::vector<runtime::Trouble> troubles;
  ranks.executor(0).set_reporter([&](const runtime::Trouble& trouble) { troubles.push_back(trouble); });
  Floats data(10);
  for (int i = 0; i < 98; ++i) must_post(ranks, 0, broadcast_call(data, 0));
  std::vector<Floats> late(4, Floats(10));
  for (Floats& one : late) must_post(ranks, 0, broadcast_call(one, 1));
  ASSERT_TRUE(ranks.sweep_for(30s, [&] { return !troubles.empty(); }));
  EXPECT_EQ(troubles[0].run, 4294967294u) << "the stall of the oldest call is looked at";
}

TEST(RunNumbers, WhatWasPostedIsToldOverTheWrap) {
  Ranks ranks(2, from_start(256));
  Floats data(10);
  runtime::Executor& executor = ranks.executor(0);
  const std::uint64_t id = ranks.communicator(0).id();
  for (std::size_t i = 0; i < 130; ++i) {
    const std::uint32_t next = start + static_cast<std::uint32_t>(i);
    EXPECT_FALSE(executor.posted(id, next)) << "call " << i;
    data.resize(i + 1);
    must_post(ranks, 0, broadcast_call(data, 0));
    const auto posted = executor.posted(id, next);
    ASSERT_TRUE(posted) << "call " << i;
    EXPECT_EQ(posted->text, "broadcast tree f32 count " + std::to_string(i + 1) + " root 0");
    EXPECT_EQ(posted->before.size(), std::min<std::size_t>(i, runtime::calls_told - 1));
  }
  for (std::uint32_t run : {start, 0u - 1, 0u, 29u}) EXPECT_NE(executor.posted(id, run)->text, "") << run;
  for (std::uint32_t run : {30u, 1000u}) EXPECT_FALSE(executor.posted(id, run)) << run;
}

TEST(RunNumbers, AMismatchIsFoundOverTheWrap) {
  for (int before : {99, 100, 101}) {
    Ranks ranks(2, from_start());
    Floats data[2] = {Floats(10), Floats(10)};
    for (int i = 0; i < before; ++i) {
      for (const Status& status : ranks.run({broadcast_call(data[0], 0), broadcast_call(data[1], 0)}))
        ASSERT_TRUE(status);
    }
    for (Rank rank : {0, 1}) must_post(ranks, rank, broadcast_call(data[rank], rank));
    ranks.sweep_until([] { return false; });
    for (Rank rank : {0, 1}) EXPECT_EQ(ranks.communicator(rank).status().code(), Code::Mismatch) << before;
  }
}

using runtime::Account;
using runtime::Local;
using runtime::Trouble;
using runtime::WatchedProcess;
using Kind = runtime::Trouble::Kind;

TEST(RunNumbers, ALeaverHadPostedTheCallsBeforeItsNextOneOverTheWrap) {
  const auto state = [](std::uint32_t run, std::uint32_t next_run) {
    return runtime::account_of_leaver(runtime::trouble(Kind::Stalled, run), {{.communicator = 1, .next_run = next_run}},
                                      0s)
        .state;
  };
  for (std::uint32_t run : {start, 0u - 1, 0u, 199u}) EXPECT_EQ(state(run, 200), Account::State::Left) << run;
  for (std::uint32_t run : {200u, 300u}) EXPECT_EQ(state(run, 200), Account::State::LeftBefore) << run;
  for (std::uint32_t run : {0u - 50, 0u - 1, 0u, 1u}) EXPECT_EQ(state(run, start), Account::State::LeftBefore) << run;
}

TEST(RunNumbers, WhoLeftBeforeACallIsNamedOverTheWrap) {
  Local job(3);
  job.leave(2, 0u - 1);
  job.watches[1]->report(runtime::trouble(Kind::Stalled, 0u - 2));
  job.watches[1]->report(runtime::trouble(Kind::Stalled, 3));
  job.expect_verdict_everywhere_but(2, "peer failed: rank 2 left the job before call 3");
}

TEST(RunNumbers, ACommunicatorThatIsGoneTellsOfItsCallsOverTheWrap) {
  Ranks ranks(2, from_start(256));
  Floats data(10);
  runtime::Executor& executor = ranks.executor(0);
  {
    runtime::Communicator other(executor, 99);
    for (int i = 0; i < 150; ++i) must_post(other, broadcast_call(data, 0));
  }
  EXPECT_EQ(executor.posted(99, 0u - 20)->digest, 0u) << "forgotten";
  EXPECT_EQ(executor.posted(99, 49)->text, "broadcast tree f32 count 10 root 0");
  EXPECT_FALSE(executor.posted(99, 50));
  const auto reached = executor.reached();
  ASSERT_EQ(reached.size(), 2u);
  EXPECT_EQ(reached[1].next_run, 50u);
}

/// A goodbye after so many calls from the start of the numbers. The last call has this digest.
runtime::Reach reach(std::uint32_t calls, std::uint64_t digest) {
  runtime::Reach one{.communicator = 5, .next_run = start + calls};
  one.last = {.digest = digest, .text = "text " + std::to_string(digest), .history = digest};
  return one;
}

TEST(RunNumbers, HistoriesThatDifferInAForgottenCallAreSaidToDiffer) {
  runtime::Reach one = reach(150, 7), other = one;
  other.last.history = 8;
  EXPECT_EQ(runtime::disagreements({{one}, {other}, {other}}),
            (std::vector<std::string>{"a call up to call 49 on communicator 0000000000000005 differed between rank 0 "
                                      "and ranks 1, 2; no rank remembers any more which one"}));
}

TEST(RunNumbers, GoodbyesAreComparedOverTheWrap) {
  EXPECT_TRUE(runtime::disagreements({{reach(150, 7)}, {reach(150, 7)}}).empty());
  EXPECT_EQ(runtime::disagreements({{reach(150, 7)}, {reach(150, 8)}}),
            (std::vector<std::string>{
                "call 49 on communicator 0000000000000005 differs: rank 0 posted text 7; rank 1 posted text 8"}));
  runtime::Reach further = reach(101, 9);
  further.last.before = {reach(100, 7).last};
  EXPECT_EQ(runtime::disagreements({{further}, {reach(100, 7)}, {further}}),
            (std::vector<std::string>{
                "rank 1 left before call 0 on communicator 0000000000000005; ranks 0, 2 posted text 9"}));
}

}  // namespace
}  // namespace lacuna::test
