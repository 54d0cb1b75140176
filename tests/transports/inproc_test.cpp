#include "transports/inproc.hpp"

#include "tests/transports/transport_conformance.hpp"

namespace lacuna::test {
namespace {

using Sends = InprocOptions::Sends;

Backend inproc(std::string name, const InprocOptions& options) {
  return {std::move(name), [options](Rank size) { return make_inproc(size, options); }};
}

INSTANTIATE_TEST_SUITE_P(Inproc, TransportConformance,
                         testing::Values(inproc("copied", {}), inproc("copied_small", {.eager_limit = 64}),
                                         inproc("copied_seeded", {.seed = 3}),
                                         inproc("referenced", {.sends = Sends::Referenced}),
                                         inproc("referenced_seeded", {.seed = 4, .sends = Sends::Referenced})),
                         backend_name);

/// What rank 0 saw, in order, when three ranks sent messages: the keys of messages, and -1 for a completion.
std::vector<int> history(std::uint64_t seed) {
  Fleet fleet(make_inproc(3, {.seed = seed}));
  std::vector<int> seen;
  for (std::uint64_t key = 0; key < 20; ++key) {
    fleet[1].send(0, header_for(key), pattern(64, key));
    fleet[2].send(0, header_for(100 + key), pattern(64, key), Delivery::Descriptor);
    fleet[0].send(1, header_for(key), pattern(64, key), Delivery::Descriptor);
  }
  std::size_t pending = fleet[0].pending();
  const auto look = [&] {
    for (; pending > fleet[0].pending(); --pending) seen.push_back(-1);
    for (const auto& message : std::exchange(fleet[0].arrived, {})) {
      seen.push_back(static_cast<int>(key_of(message.header)));
    }
    return seen.size() == 60;
  };
  fleet.drive_until(look);
  return seen;
}

std::vector<int> messages_from_1(std::vector<int> seen) {
  std::erase_if(seen, [](int key) { return key < 0 || key >= 100; });
  return seen;
}

TEST(Inproc, WithoutASeedMessagesArriveInTheOrderOfTheirSending) {
  const auto order = messages_from_1(history(0));
  EXPECT_EQ(order.size(), 20u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Inproc, ASeedReordersMessagesOfOneSender) {
  const auto order = messages_from_1(history(1));
  EXPECT_EQ(order.size(), 20u);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
}

TEST(Inproc, EqualSeedsRepeatTheSameOrder) { EXPECT_EQ(history(5), history(5)); }

TEST(Inproc, DifferentSeedsGiveDifferentOrders) { EXPECT_NE(history(5), history(6)); }

TEST(Inproc, ASeedDelaysAnEventByABoundedNumberOfCalls) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Fleet fleet(make_inproc(2, {.seed = seed}));
    for (std::uint64_t key = 0; key < 200; ++key) fleet[0].send(1, {}, pattern(8, key));
    for (int call = 0; call < 17; ++call) fleet[1].progress();
    ASSERT_EQ(fleet[1].arrived.size(), 200u);
  }
}

TEST(Inproc, ASeedMakesSomeFetchesPending) {
  Fleet fleet(make_inproc(1, {.seed = 1}));
  fleet[0].fetches = false;
  for (std::uint64_t key = 0; key < 50; ++key) fleet[0].send(0, {}, pattern(8, key), Delivery::Descriptor);
  fleet.drive_until([&] { return fleet[0].waiting.size() == 50; });
  int done = 0;
  for (auto& from : std::exchange(fleet[0].waiting, {})) done += fleet[0].fetch(from) == Started::Done;
  EXPECT_GT(done, 0);
  EXPECT_LT(done, 50);
  fleet.drive_until([&] { return fleet[0].pending() == 0; });
}

TEST(Inproc, ACopiedSendIsDoneAtOnce) {
  Fleet fleet(make_inproc(2, {}));
  EXPECT_EQ(fleet[0].send(1, header_for(1), pattern(64, 1)), Started::Done);
}

TEST(Inproc, AReferencedSendIsPendingUntilItsDelivery) {
  Fleet fleet(make_inproc(2, {.sends = Sends::Referenced}));
  EXPECT_EQ(fleet[0].send(1, header_for(1), pattern(64, 1)), Started::Pending);
  EXPECT_FALSE(fleet[0].progress());
  fleet[1].progress();
  EXPECT_EQ(fleet[0].pending(), 1u);
  fleet[0].progress();
  EXPECT_EQ(fleet[0].pending(), 0u);
}

TEST(Inproc, ADiscardedDescriptorIsAMessageWithoutPayload) {
  Fleet fleet(make_inproc(2, {}));
  fleet[1].fetches = false;
  fleet[0].send(1, header_for(1), pattern(5000, 1), Delivery::Descriptor);
  fleet[1].progress();
  fleet[1].discard(fleet[1].waiting.at(0));
  fleet[0].progress();
  EXPECT_EQ(fleet[0].transport().counters(1).messages_sent, 1u);
  EXPECT_EQ(fleet[0].transport().counters(1).payload_sent, 0u);
  EXPECT_EQ(fleet[1].transport().counters(0).payload_received, 0u);
}

TEST(Inproc, ProgressSaysWhetherAnythingHappened) {
  Fleet fleet(make_inproc(2, {}));
  EXPECT_FALSE(fleet[1].progress());
  fleet[0].send(1, {}, {});
  EXPECT_TRUE(fleet[1].progress());
  EXPECT_FALSE(fleet[1].progress());
}

TEST(Inproc, OnlyAnArmedReceiverIsSignalled) {
  Fleet fleet(make_inproc(2, {}));
  const int event_fd = fleet[1].transport().event_fd();
  fleet[0].send(1, {}, {});
  EXPECT_FALSE(readable(event_fd, 0ms));
  EXPECT_FALSE(fleet[1].arm());
  fleet[1].progress();
  EXPECT_TRUE(fleet[1].arm());
  EXPECT_FALSE(readable(event_fd, 0ms));
  fleet[0].send(1, {}, {});
  EXPECT_TRUE(readable(event_fd, 0ms));
  fleet[1].progress();
  EXPECT_TRUE(fleet[1].arm());
  EXPECT_FALSE(readable(event_fd, 0ms));
}

TEST(Inproc, ConnectRefusesAnotherNumberOfAddresses) {
  auto transports = make_inproc(2, {});
  Node node(std::move(transports[0]));
  const Status refused = node.transport().connect({{}, {}, {}}, node);
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  EXPECT_NE(refused.message().find("3 addresses"), std::string_view::npos) << refused.message();
}

class InprocClosing : public testing::TestWithParam<std::uint64_t> {};

TEST_P(InprocClosing, FetchingFromAClosedRankIsAnErrorThatNamesIt) {
  Fleet fleet(make_inproc(2, {.seed = GetParam()}));
  fleet[1].fetches = false;
  fleet[0].send(1, header_for(1), pattern(5000, 1), Delivery::Descriptor);
  fleet.drive_until([&] { return fleet[1].waiting.size() == 1; });
  ASSERT_TRUE(fleet[0].close(0ms));
  EXPECT_EQ(fleet[1].fetch(std::move(fleet[1].waiting[0])), Started::Pending);
  fleet[1].waiting.clear();
  fleet.drive_until([&] { return fleet[1].pending() == 0; });
  ASSERT_EQ(fleet[1].failures.size(), 1u);
  EXPECT_EQ(fleet[1].failures[0].code(), Code::PeerFailed);
  EXPECT_NE(fleet[1].failures[0].message().find("rank 0"), std::string_view::npos);
}

TEST_P(InprocClosing, DescriptorsForAClosedRankEndWithAnErrorWhereverTheyAre) {
  Fleet fleet(make_inproc(2, {.seed = GetParam()}));
  fleet[1].fetches = false;
  fleet[0].send(1, header_for(1), pattern(5000, 1), Delivery::Descriptor);
  fleet.drive_until([&] { return fleet[1].waiting.size() == 1; });          // the receiver has seen it
  fleet[0].send(1, header_for(2), pattern(5000, 2), Delivery::Descriptor);  // it is in the receiver's queue
  ASSERT_TRUE(fleet[1].close(0ms));
  fleet[0].send(1, header_for(3), pattern(5000, 3), Delivery::Descriptor);  // it comes too late
  fleet.drive_until([&] { return fleet[0].pending() == 0; });
  ASSERT_EQ(fleet[0].failures.size(), 3u);
  for (const Status& status : fleet[0].failures) EXPECT_EQ(status.code(), Code::PeerFailed);
}

TEST_P(InprocClosing, EagerSendsToAClosedRankGiveTheirMemoryBack) {
  Fleet fleet(make_inproc(2, {.seed = GetParam(), .sends = Sends::Referenced}));
  fleet[0].send(1, header_for(1), pattern(64, 1));
  ASSERT_TRUE(fleet[1].close(0ms));
  fleet[0].send(1, header_for(2), pattern(64, 2));
  fleet.drive_until([&] { return fleet[0].pending() == 0; });
  EXPECT_TRUE(fleet[0].failures.empty());
}

TEST_P(InprocClosing, RanksMayLeaveWhileOthersReadTheirMemory) {
  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    Fleet fleet(make_inproc(3, {.seed = GetParam(), .sends = Sends::Referenced}));
    fleet.run_threads([&](std::size_t rank, Node& node) {
      for (std::uint64_t key = 0; key < 60; ++key) {
        const auto to = static_cast<Peer>((rank + 1 + key % 2) % 3);
        node.send(to, header_for(key), pattern(3000, key), key % 3 == 0 ? Delivery::Descriptor : Delivery::Eager);
        node.progress();
      }
      for (std::size_t i = 0; i < 5 * rank; ++i) node.progress();
      EXPECT_TRUE(node.close(0ms));
    });
    for (std::size_t rank = 0; rank < 3; ++rank) {
      for (const auto& message : fleet[rank].arrived) {
        ASSERT_TRUE(message.bytes == pattern(3000, key_of(message.header)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, InprocClosing, testing::Values(0, 11), testing::PrintToStringParamName());

}  // namespace
}  // namespace lacuna::test
