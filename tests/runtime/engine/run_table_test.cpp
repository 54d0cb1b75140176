#include "runtime/engine/run_table.hpp"

#include <gtest/gtest.h>

#include <set>

#include "algorithms/registry/registry.hpp"

namespace lacuna::test {
namespace {

runtime::CollectiveRun barrier() {
  runtime::CollectiveRun run;
  run.call.collective = Collective::Barrier;
  run.algorithm = *select_algorithm(run.call, Hosts(2));
  return run;
}

TEST(RunTable, ACallIsFoundUntilItsEndAndRememberedAfterIt) {
  runtime::RunTable table(0u - 1, 4, 4);
  runtime::CollectiveRun call = barrier();
  table.add_call(call);
  EXPECT_EQ(call.number, 0u - 1);
  EXPECT_EQ(table.next(), 0u);
  EXPECT_EQ(table.find(call.number), &call);
  table.remove(call);
  EXPECT_TRUE(table.empty());
  EXPECT_FALSE(table.find(call.number));
  EXPECT_TRUE(table.remembers(call.number));
  EXPECT_TRUE(table.may_be_of(call.number, call.digest));
  EXPECT_FALSE(table.may_be_of(call.number, call.digest + 1));
}

TEST(RunTable, AMessageThatEndsLeavesTheOthersInTheirPlaces) {
  runtime::RunTable table(0, 4, 3);
  runtime::MessageRun messages[3];
  for (runtime::MessageRun& message : messages) {
    message.kind = runtime::RunKind::Send;
    EXPECT_TRUE(table.has_room_for_messages(1));
    table.add_message(message);
  }
  EXPECT_EQ(table.has_room_for_messages(1).code(), Code::Busy);
  table.remove(messages[0]);
  table.remove(messages[2]);
  EXPECT_TRUE(table.has_room_for_messages(2));
  EXPECT_EQ(table.has_room_for_messages(3).code(), Code::Busy);
  EXPECT_EQ(table.messages(), std::vector<runtime::MessageRun*>{&messages[1]});
  EXPECT_EQ(messages[1].place, 0u);
}

TEST(RunTable, VisitsEachCallAlsoIfTheVisitEndsIt) {
  runtime::RunTable table(5, 4, 4);
  runtime::CollectiveRun calls[] = {barrier(), barrier(), barrier()};
  for (runtime::CollectiveRun& call : calls) table.add_call(call);
  std::set<std::uint32_t> visited;
  table.each_call([&](runtime::CollectiveRun& run) {
    visited.insert(run.number);
    table.remove(run);
  });
  EXPECT_EQ(visited, (std::set<std::uint32_t>{5, 6, 7}));
  EXPECT_EQ(table.calls(), 0u);
}

}  // namespace
}  // namespace lacuna::test
