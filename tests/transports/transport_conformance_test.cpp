#include "tests/transports/transport_conformance.hpp"

#include <numeric>
#include <set>

namespace lacuna::test {
namespace {

using Waiting = Node::Waiting;

std::uint64_t total(const std::vector<std::size_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
}

/// Do the bytes belong to the key in the header?
bool intact(const Node::Arrived& message, std::size_t size) {
  const auto key = key_of(message.header);
  return message.header == header_for(key, message.header.size()) && message.bytes == pattern(size, key);
}

TEST_P(TransportConformance, HasANameAndAnEagerLimitThatIsAMultipleOf64) {
  Fleet fleet(GetParam(), 1);
  EXPECT_FALSE(fleet[0].transport().name().empty());
  EXPECT_GE(fleet[0].transport().eager_limit(), 64u);
  EXPECT_EQ(fleet[0].transport().eager_limit() % 64, 0u);
}

TEST_P(TransportConformance, ServesHostMemoryAndRefusesDeviceMemoryWithAReason) {
  Fleet fleet(GetParam(), 1);
  EXPECT_TRUE(fleet[0].transport().viable({MemoryKind::Host}));
  const Status refused = fleet[0].transport().viable({MemoryKind::Cuda});
  EXPECT_EQ(refused.code(), Code::Unsupported);
  EXPECT_FALSE(refused.message().empty());
}

TEST_P(TransportConformance, EagerMessagesOfAllSizesArriveIntact) {
  Fleet fleet(GetParam(), 2);
  const std::size_t limit = fleet[0].transport().eager_limit();
  std::uint64_t key = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, limit}) {
    for (std::size_t header_size = 0; header_size <= max_header_bytes; ++header_size) {
      const Bytes header = pattern(header_size, ++key);
      const Bytes bytes = pattern(size, key);
      fleet[0].send(1, header, bytes);
      fleet.drive_until([&] { return fleet[1].arrived.size() == 1; });
      ASSERT_EQ(fleet[1].arrived.size(), 1u);
      const Node::Arrived message = fleet[1].arrived.back();
      fleet[1].arrived.clear();
      ASSERT_EQ(message.from, 0u);
      ASSERT_EQ(message.header, header);
      ASSERT_EQ(message.bytes, bytes) << size << " bytes";
    }
  }
  fleet.drive_until([&] { return fleet[0].pending() == 0; });
}

// What one message has used serves the next one, which may travel in another way.
TEST_P(TransportConformance, MessagesOfBothDeliveriesThatFollowEachOtherArriveOnceEachAndIntact) {
  constexpr std::size_t size = 48;
  constexpr auto eager = Delivery::Eager, offered = Delivery::Descriptor;
  const std::vector<std::vector<Delivery>> groups = {
      {offered}, {eager}, {offered, offered, eager}, {eager, eager}, {offered, eager, offered, offered}};
  Fleet fleet(GetParam(), 2);
  std::uint64_t key = 0;
  for (int round = 0; round < 5; ++round) {
    for (const std::vector<Delivery>& group : groups) {
      std::set<std::uint64_t> sent, came;
      for (const Delivery delivery : group) {
        sent.insert(++key);
        fleet[0].send(1, header_for(key), pattern(size, key), delivery);
      }
      fleet.drive_until([&] { return fleet[0].pending() == 0 && fleet[1].arrived.size() == group.size(); });
      for (const Node::Arrived& message : std::exchange(fleet[1].arrived, {})) {
        ASSERT_TRUE(intact(message, size)) << "round " << round << " key " << key_of(message.header);
        came.insert(key_of(message.header));
      }
      ASSERT_EQ(came, sent) << "round " << round;
    }
  }
}

TEST_P(TransportConformance, ManyMessagesInFlightArriveOnceEach) {
  constexpr std::uint64_t messages = 3000;
  Fleet fleet(GetParam(), 2);
  const auto size_for = [&](std::uint64_t key) { return key % (fleet[0].transport().eager_limit() + 1); };
  for (std::uint64_t key = 0; key < messages; ++key) {
    fleet[0].send(1, header_for(key, 8 + key % 41), pattern(size_for(key), key));
  }
  fleet.drive_until([&] { return fleet[1].arrived.size() >= messages && fleet[0].pending() == 0; });
  std::set<std::uint64_t> keys;
  for (const auto& message : fleet[1].arrived) {
    ASSERT_TRUE(intact(message, size_for(key_of(message.header))));
    keys.insert(key_of(message.header));
  }
  EXPECT_EQ(fleet[1].arrived.size(), messages);
  EXPECT_EQ(keys.size(), messages);
}

TEST_P(TransportConformance, DescriptorsOfAllSizesBringAllBytes) {
  Fleet fleet(GetParam(), 2);
  const std::vector<std::size_t> sizes = {0, 1, 1 << 20, 10 << 20};
  for (std::size_t key = 0; key < sizes.size(); ++key) {
    fleet[0].send(1, header_for(key, 48), pattern(sizes[key], key), Delivery::Descriptor);
  }
  fleet.drive_until([&] { return fleet[1].arrived.size() == sizes.size() && fleet[0].pending() == 0; });
  for (const auto& message : fleet[1].arrived) {
    EXPECT_TRUE(intact(message, sizes[key_of(message.header)])) << sizes[key_of(message.header)] << " bytes";
  }
  EXPECT_TRUE(fleet[0].failures.empty());
  EXPECT_TRUE(fleet[1].failures.empty());
}

TEST_P(TransportConformance, DescriptorsNameTheirSizeAndWaitUntilFetchedInAnyOrder) {
  constexpr std::size_t count = 10;
  Fleet fleet(GetParam(), 2);
  fleet[1].fetches = false;
  for (std::size_t key = 0; key < count; ++key) {
    fleet[0].send(1, header_for(key), pattern(3000 * key, key), Delivery::Descriptor);
  }
  fleet.drive_until([&] { return fleet[1].waiting.size() == count; });
  auto waiting = std::exchange(fleet[1].waiting, {});
  std::sort(waiting.begin(), waiting.end(),
            [](const Waiting& a, const Waiting& b) { return key_of(a.header) > key_of(b.header); });
  for (Waiting& from : waiting) {
    EXPECT_EQ(from.descriptor.bytes, 3000 * key_of(from.header));
    fleet[1].fetch(std::move(from));
  }
  fleet.drive_until([&] { return fleet[1].arrived.size() == count && fleet[0].pending() == 0; });
  for (const auto& message : fleet[1].arrived) EXPECT_TRUE(intact(message, 3000 * key_of(message.header)));
}

TEST_P(TransportConformance, DiscardingCompletesTheSenderWithoutAnError) {
  Fleet fleet(GetParam(), 2);
  fleet[1].fetches = false;
  for (std::uint64_t key = 0; key < 4; ++key) {
    fleet[0].send(1, header_for(key), pattern(key * (1 << 20), key), Delivery::Descriptor);
  }
  fleet.drive_until([&] { return fleet[1].waiting.size() == 4; });
  for (const Waiting& from : std::exchange(fleet[1].waiting, {})) fleet[1].discard(from);
  fleet.drive_until([&] { return fleet[0].pending() == 0; });
  EXPECT_TRUE(fleet[0].failures.empty());
  EXPECT_TRUE(fleet[1].arrived.empty());
}

TEST_P(TransportConformance, ADescriptorMayBeDiscardedByTheHandlerThatItComesTo) {
  Fleet fleet(GetParam(), 2);
  fleet[1].discards_at_once = true;
  constexpr std::size_t messages = 50;
  for (std::size_t i = 0; i < messages; ++i) {
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{100'000}}) {
      fleet[0].send(1, header_for(i), pattern(bytes, i), Delivery::Descriptor);
    }
  }
  fleet.drive_until([&] { return fleet[1].discarded == 2 * messages && fleet[0].pending() == 0; });
  EXPECT_TRUE(fleet[0].failures.empty());
  fleet[1].discards_at_once = false;
  fleet[0].send(1, {}, pattern(100'000, 3), Delivery::Descriptor);
  fleet.drive_until([&] { return fleet[1].arrived.size() == 1; });
  ASSERT_EQ(fleet[1].arrived.size(), 1u);
  EXPECT_EQ(fleet[1].arrived[0].bytes, pattern(100'000, 3));
}

TEST_P(TransportConformance, ARankReachesItself) {
  Fleet fleet(GetParam(), 2);
  fleet[1].send(1, header_for(64), pattern(64, 64));
  fleet[1].send(1, header_for(100000), pattern(100000, 100000), Delivery::Descriptor);
  fleet.drive_until([&] { return fleet[1].arrived.size() == 2 && fleet[1].pending() == 0; });
  for (const auto& message : fleet[1].arrived) {
    EXPECT_EQ(message.from, 1u);
    EXPECT_TRUE(intact(message, key_of(message.header)));
  }
  const Counters counters = fleet[1].transport().counters(1);
  EXPECT_EQ(counters.payload_sent, 100064u);
  EXPECT_EQ(counters.payload_received, 100064u);
}

TEST_P(TransportConformance, CountersAreExactAndPerPeer) {
  Fleet fleet(GetParam(), 3);
  const std::vector<std::size_t> eager = {0, 1, 64};
  const std::vector<std::size_t> fetched = {0, 7, 70000};
  for (const std::size_t size : eager) fleet[0].send(1, header_for(size, 48), pattern(size, size));
  for (const std::size_t size : fetched) fleet[0].send(1, header_for(size), pattern(size, size), Delivery::Descriptor);
  fleet[2].send(1, {}, pattern(5, 5));
  fleet.drive_until([&] { return fleet[1].arrived.size() == 7 && fleet[0].pending() + fleet[2].pending() == 0; });

  const Counters sender = fleet[0].transport().counters(1);
  EXPECT_EQ(sender.messages_sent, 6u);
  EXPECT_EQ(sender.header_sent, 3u * 48 + 3 * 16);
  EXPECT_EQ(sender.payload_sent, total(eager) + total(fetched));
  EXPECT_EQ(sender.messages_received + sender.payload_received, 0u);
  const Counters receiver = fleet[1].transport().counters(0);
  EXPECT_EQ(receiver.messages_received, 6u);
  EXPECT_EQ(receiver.payload_received, total(eager) + total(fetched));
  EXPECT_EQ(receiver.messages_sent + receiver.header_sent + receiver.payload_sent, 0u);
  EXPECT_EQ(fleet[1].transport().counters(2).payload_received, 5u);
  EXPECT_EQ(fleet[0].transport().counters(2).messages_sent, 0u);
}

TEST_P(TransportConformance, AMessageSentBeforeTheReceiversFirstProgressArrives) {
  Fleet fleet(GetParam(), 2);
  fleet[0].send(1, header_for(40), pattern(40, 40));
  for (int i = 0; i < 100; ++i) fleet[0].progress();
  EXPECT_TRUE(fleet[1].arrived.empty());
  fleet.drive_until([&] { return !fleet[1].arrived.empty(); });
  EXPECT_TRUE(intact(fleet[1].arrived[0], 40));
}

TEST_P(TransportConformance, ClosingLetsGoOfWhatIsPendingOnBothSides) {
  Fleet fleet(GetParam(), 2);
  fleet[1].fetches = false;
  for (std::uint64_t key = 0; key < 3; ++key) {
    fleet[0].send(1, header_for(key), pattern(200000, key), Delivery::Descriptor);
  }
  fleet.drive_until([&] { return fleet[1].waiting.size() == 3; });
  fleet[1].fetch(std::move(fleet[1].waiting[0]));
  fleet[1].discard(fleet[1].waiting[1]);
  fleet[0].send(1, header_for(9), pattern(64, 9));
  fleet[0].send(1, header_for(10), pattern(200000, 10), Delivery::Descriptor);
  fleet[1].send(0, header_for(11), pattern(200000, 11), Delivery::Descriptor);
  fleet.close(200ms);  // the nodes spoil and free their memory, so a sanitizer sees who still reads it
}

}  // namespace
}  // namespace lacuna::test
