#include <atomic>
#include <set>

#include "tests/transports/transport_conformance.hpp"

// In these tests all ranks send to all, each on a thread of its own, and sleep on the event descriptor.
namespace lacuna::test {
namespace {

/// The sizes of the messages that each rank sends to each rank, itself included. Every second message is a descriptor.
std::vector<std::size_t> exchange_sizes(Node& node) {
  const std::size_t limit = node.transport().eager_limit();
  return {0, 0, 1, 1, 64, 63, limit, limit + 1, limit / 2, 300000, 17, 12 * limit};
}

std::uint64_t exchange_key(std::size_t from, std::size_t to, std::size_t index) {
  return (from * 1000 + to) * 1000 + index;
}

void post_exchange(std::size_t rank, std::size_t ranks, Node& node) {
  const auto sizes = exchange_sizes(node);
  for (std::size_t index = 0; index < sizes.size(); ++index) {
    for (std::size_t to = 0; to < ranks; ++to) {
      const auto key = exchange_key(rank, to, index);
      node.send(static_cast<Peer>(to), header_for(key, 8 + key % 41), pattern(sizes[index], key),
                index % 2 == 0 ? Delivery::Eager : Delivery::Descriptor);
    }
  }
}

bool exchange_ended(std::size_t ranks, Node& node) {
  return node.pending() == 0 && node.arrived.size() >= ranks * exchange_sizes(node).size();
}

void check_exchange(std::size_t rank, std::size_t ranks, Node& node) {
  const auto sizes = exchange_sizes(node);
  std::set<std::uint64_t> expected;
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t index = 0; index < sizes.size(); ++index) expected.insert(exchange_key(from, rank, index));
  }
  std::set<std::uint64_t> keys;
  for (const auto& message : node.arrived) {
    const auto key = key_of(message.header);
    keys.insert(key);
    EXPECT_EQ(message.from, key / 1000000);
    EXPECT_EQ(message.header, header_for(key, message.header.size()));
    EXPECT_TRUE(message.bytes == pattern(sizes[key % 1000], key)) << "message " << key;
  }
  EXPECT_EQ(keys, expected);
  EXPECT_EQ(node.arrived.size(), expected.size());
  EXPECT_TRUE(node.failures.empty());
}

/// Makes progress until all ranks have finished, because peers may need this rank. The test fails if that never
/// happens.
void finish(std::atomic<std::size_t>& finished, std::size_t ranks, Node& node) {
  const auto end = std::chrono::steady_clock::now() + patience;
  ++finished;
  while (finished < ranks && std::chrono::steady_clock::now() < end) {
    if (!node.progress()) std::this_thread::yield();
  }
}

TEST_P(TransportConformance, AllRanksReachAllDrivenInTurn) {
  for (const Rank ranks : {1, 2, 3, 5}) {
    Fleet fleet(GetParam(), ranks);
    for (std::size_t rank = 0; rank < fleet.size(); ++rank) post_exchange(rank, fleet.size(), fleet[rank]);
    for (std::size_t rank = 0; rank < fleet.size(); ++rank) {
      fleet.drive_until([&] { return exchange_ended(fleet.size(), fleet[rank]); });
    }
    for (std::size_t rank = 0; rank < fleet.size(); ++rank) check_exchange(rank, fleet.size(), fleet[rank]);
  }
}

TEST_P(TransportConformance, AllRanksReachAllFromAThreadEach) {
  for (const Rank ranks : {1, 2, 3, 5}) {
    Fleet fleet(GetParam(), ranks);
    std::atomic<std::size_t> finished{0};
    fleet.run_threads([&](std::size_t rank, Node& node) {
      const auto end = std::chrono::steady_clock::now() + patience;
      post_exchange(rank, fleet.size(), node);
      while (!exchange_ended(fleet.size(), node) && std::chrono::steady_clock::now() < end) {
        if (!node.progress()) std::this_thread::yield();
      }
      finish(finished, fleet.size(), node);
    });
    for (std::size_t rank = 0; rank < fleet.size(); ++rank) check_exchange(rank, fleet.size(), fleet[rank]);
  }
}

/// Makes progress until there is nothing to do, and then sleeps. Returns false if nothing woke it.
bool sleep_until(Node& node, const std::function<bool()>& condition) {
  while (!condition()) {
    if (node.progress()) continue;
    if (node.arm() && !readable(node.transport().event_fd(), patience)) return false;
  }
  return true;
}

TEST_P(TransportConformance, RanksThatSleepBetweenMessagesMissNone) {
  constexpr std::size_t rounds = 300;
  Fleet fleet(GetParam(), 2);
  ASSERT_GE(fleet[0].transport().event_fd(), 0);
  std::atomic<std::size_t> finished{0};
  fleet.run_threads([&](std::size_t rank, Node& node) {
    const auto other = static_cast<Peer>(1 - rank);
    for (std::size_t round = 0; round < rounds; ++round) {
      if (rank == 0) node.send(other, header_for(round), pattern(8, round));
      if (!sleep_until(node, [&] { return node.arrived.size() > round; })) {
        ADD_FAILURE() << "rank " << rank << " was not woken in round " << round;
        break;
      }
      if (rank == 1) node.send(other, header_for(round), pattern(8, round));
    }
    finish(finished, 2, node);
  });
  EXPECT_EQ(fleet[0].arrived.size(), rounds);
  EXPECT_EQ(fleet[1].arrived.size(), rounds);
}

TEST_P(TransportConformance, AMessageThatCameBeforeArmingIsNoticed) {
  Fleet fleet(GetParam(), 2);
  fleet[0].send(1, {}, {});
  fleet.drive_until([&] { return fleet[1].arrived.size() == 1; });
  while (fleet[1].progress() || !fleet[1].arm()) {
  }
  EXPECT_EQ(fleet[1].arrived.size(), 1u);
  fleet[0].send(1, {}, pattern(64, 1));
  for (int i = 0; i < 1000; ++i) fleet[0].progress();
  EXPECT_TRUE(!fleet[1].arm() || readable(fleet[1].transport().event_fd(), 10s));
}

TEST_P(TransportConformance, WhoHasSentToItselfDoesNotSleepOverIt) {
  for (const Delivery delivery : {Delivery::Eager, Delivery::Descriptor}) {
    Fleet fleet(GetParam(), 1);
    while (fleet[0].progress() || !fleet[0].arm()) {
    }
    fleet[0].send(0, {}, pattern(64, 1), delivery);
    EXPECT_TRUE(!fleet[0].arm() || readable(fleet[0].transport().event_fd(), 2s));
    fleet.drive_until([&] { return fleet[0].arrived.size() == 1; });
  }
}

TEST_P(TransportConformance, AFetchWakesTheSenderThatWaitsForIt) {
  Fleet fleet(GetParam(), 2);
  fleet[0].send(1, {}, pattern(1 << 20, 1), Delivery::Descriptor);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (fleet[0].pending() > 0 && std::chrono::steady_clock::now() < end) {
    fleet[0].progress_when_woken();
    fleet[1].progress();
  }
  EXPECT_EQ(fleet[0].pending(), 0u);
}

}  // namespace
}  // namespace lacuna::test
