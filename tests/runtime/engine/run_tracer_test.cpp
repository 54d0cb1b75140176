#include "runtime/engine/run_tracer.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/support/calls.hpp"

namespace lacuna::test {
namespace {

using runtime::Tracer;

RanksOptions traced(std::size_t events) {
  RanksOptions options{.network = {}, .executor = quick_executor()};
  options.executor.trace_events = events;
  return options;
}

/// The bytes of the steps of one kind that have ended on a rank, in their order.
std::vector<std::uint64_t> bytes_of(Ranks& ranks, Rank rank, StepKind kind) {
  std::vector<std::uint64_t> bytes;
  for (const Tracer::Event& event : ranks.executor(rank).tracer()->events()) {
    if (event.kind == Tracer::Kind::StepEnded && event.step_kind == kind) bytes.push_back(event.bytes);
  }
  return bytes;
}

TEST(Tracer, ACopyHasTheBytesThatItCopies) {
  const std::vector<std::size_t> given = {3, 3}, most = {1000, 900};
  std::vector<std::size_t> received(2);
  std::vector<float> input(6), output(1900);
  Call call;
  call.collective = Collective::Alltoallv;
  call.input = input.data();
  call.output = output.data();
  call.input_blocks = {.counts = given};
  call.output_blocks = {.counts = most, .received = received};
  Ranks ranks(2, traced(1000));
  for (const Status& status : ranks.run({call, call})) EXPECT_TRUE(status) << status.to_string();
  for (Rank rank : {0, 1}) EXPECT_EQ(bytes_of(ranks, rank, StepKind::Copy), std::vector<std::uint64_t>{12});
}

/// The other ranks that the events of a rank name, each with the kind of the event.
std::set<std::pair<Tracer::Kind, Rank>> peers_of(Ranks& ranks, Rank rank) {
  std::set<std::pair<Tracer::Kind, Rank>> peers;
  for (const Tracer::Event& event : ranks.executor(rank).tracer()->events()) {
    const bool is_message = event.kind == Tracer::Kind::CallPosted && event.call_kind != runtime::RunKind::Collective;
    const bool is_step = event.kind == Tracer::Kind::StepStarted || event.kind == Tracer::Kind::StepEnded ||
                         event.kind == Tracer::Kind::Sent;
    const bool has_peer = is_step && event.step_kind <= StepKind::ReceiveReduce;
    if (is_message || has_peer) peers.emplace(event.kind, event.peer);
  }
  return peers;
}

// The two ends of a message's arrow are matched by the ranks of the job, whatever the group is.
TEST(Tracer, EventsOfAGroupNameTheRanksOfTheJob) {
  const Group group({3, 1}, 4);
  Ranks ranks(4, traced(1000));
  runtime::Communicator first(ranks.executor(3), 99, group, Hosts(2)), second(ranks.executor(1), 99, group, Hosts(2));
  const std::vector<float> input(8, 1), letter(8, 5);
  std::vector<float> outputs[2] = {std::vector<float>(8), std::vector<float>(8)}, got(8);
  const runtime::Run& one = must_post(first, allreduce_call(input, outputs[0]));
  const runtime::Run& other = must_post(second, allreduce_call(input, outputs[1]));
  ASSERT_TRUE(first.post(Send{.data = letter.data(), .count = 8, .to = 1}));
  const auto receive = second.post(Receive{.data = got.data(), .count = 8, .from = 0});
  ASSERT_TRUE(ranks.sweep_until([&] { return one.finished && other.finished && (*receive)->finished; }));
  EXPECT_EQ(got, letter);
  for (const auto& [rank, peer] : {std::pair<Rank, Rank>(3, 1), {1, 3}}) {
    const auto peers = peers_of(ranks, rank);
    EXPECT_EQ(peers.size(), 4u) << "of each kind of event";
    for (const auto& [kind, named] : peers) EXPECT_EQ(named, peer) << static_cast<int>(kind);
  }
}

TEST(Tracer, KeepsAsManyEventsAsItHasRoomForAndCountsTheOthers) {
  std::vector<float> input(8), output(8);
  const auto run = [&](std::size_t room) {
    auto ranks = std::make_unique<Ranks>(2, traced(room));
    for (const Status& status : ranks->run({allreduce_call(input, output), allreduce_call(input, output)})) {
      EXPECT_TRUE(status) << status.to_string();
    }
    return std::pair(ranks->executor(0).tracer()->events().size(), ranks->executor(0).tracer()->dropped());
  };
  const std::size_t all = run(100'000).first;
  ASSERT_GT(all, 4u);
  EXPECT_EQ(run(all), std::pair(all, std::uint64_t{0}));
  EXPECT_EQ(run(all - 1), std::pair(all - 1, std::uint64_t{1}));
  EXPECT_EQ(run(1), std::pair(std::size_t{1}, static_cast<std::uint64_t>(all - 1)));
}

}  // namespace
}  // namespace lacuna::test
