// Messages in memory that the receiver has mapped.
#include <csignal>

#include "tests/transports/ucx_ranks.hpp"

namespace lacuna::test {
namespace {

/// Sends a descriptor of these bytes and waits until the peer shows that it reads them in place. Descriptors before
/// that are ended.
void send_until_mapped(Transport& sender, Transport& receiver, Witness& at_receiver, std::span<const std::byte> bytes,
                       Token token) {
  const auto end = Steady::now() + patience;
  for (bool is_mapped = false; !is_mapped && Steady::now() < end;) {
    is_mapped = sender.is_mapped_by(1, bytes);
    sender.send(1, {}, bytes, Delivery::Descriptor, token);
    while (at_receiver.descriptors.empty() && Steady::now() < end) {
      sender.progress();
      receiver.progress();
    }
    ASSERT_FALSE(at_receiver.descriptors.empty());
    EXPECT_EQ(at_receiver.descriptors[0].data != nullptr, is_mapped);
    if (is_mapped) return;
    receiver.discard(at_receiver.descriptors[0]);
    at_receiver.descriptors.clear();
  }
  FAIL() << "the peer has not mapped the memory";
}

/// Two transports of this process that are connected.
struct Two {
  explicit Two(std::vector<std::unique_ptr<Transport>> made) : transports(std::move(made)) {
    const std::vector<Address> addresses = {transports[0]->address(), transports[1]->address()};
    for (std::size_t rank : {0, 1}) EXPECT_TRUE(transports[rank]->connect(addresses, witness[rank]));
  }
  void progress() {
    for (const auto& transport : transports) transport->progress();
  }

  Witness witness[2];
  std::vector<std::unique_ptr<Transport>> transports;
};

TEST(Ucx, BytesThatAreMappedAreReadWhereTheyLieAndStayUntilTheyAreReleased) {
  Two two(make_ranks(shared_memory, 2, 7));
  const Bytes bytes = pattern(100'000, 1);
  int token = 0;
  send_until_mapped(*two.transports[0], *two.transports[1], two.witness[1], bytes, &token);
  const Descriptor shown = two.witness[1].descriptors.at(0);
  ASSERT_NE(shown.data, nullptr);
  EXPECT_NE(shown.data, bytes.data()) << "it is another mapping";
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), shown.data, shown.data + shown.bytes));
  const std::size_t before = two.witness[0].ended.size();
  for (int round = 0; round < 1000; ++round) two.progress();
  EXPECT_EQ(two.witness[0].ended.size(), before) << "the send has ended before its bytes were released";
  const std::uint64_t received = two.transports[1]->counters(0).payload_received;
  two.transports[1]->release(shown);
  EXPECT_EQ(two.transports[1]->counters(0).payload_received, received + bytes.size());
  const auto end = Steady::now() + patience;
  while (two.witness[0].ended.size() == before && Steady::now() < end) two.progress();
  ASSERT_EQ(two.witness[0].ended.size(), before + 1);
  EXPECT_TRUE(two.witness[0].ended.back());
}

TEST(Ucx, MemoryIsNotMappedByAnotherHostOrIfItIsOrdinary) {
  std::vector<std::unique_ptr<Transport>> transports = make_ranks(shared_memory, 1, 7);
  transports.push_back(std::move(make_ranks(shared_memory, 1, 8).front()));
  Two apart(std::move(transports));
  Two together(make_ranks(shared_memory, 2, 7));
  const Bytes mappable(1000);
  const std::vector<std::byte> ordinary(1000);
  int token = 0;
  apart.transports[0]->send(1, {}, mappable, Delivery::Descriptor, &token);
  together.transports[0]->send(1, {}, ordinary, Delivery::Descriptor, &token);
  for (int round = 0; round < 1000; ++round) {
    EXPECT_FALSE(apart.transports[0]->is_mapped_by(1, mappable));
    EXPECT_FALSE(together.transports[0]->is_mapped_by(1, ordinary));
    apart.progress();
    together.progress();
  }
}

TEST(Ucx, AMappedSendEndsWithAnErrorIfItsReceiverIsKilledAndWellIfItCloses) {
  for (const bool is_killed : {true, false}) {
    Pair pair(mapped_over_tcp, [is_killed](Rank rank, auto transport, auto addresses, const Process::Say& say) {
      Witness witness;
      EXPECT_TRUE(transport->connect(addresses, witness));
      const Bytes bytes(1 << 20);
      int token = 0;
      const auto is_mapped = [&] { return transport->is_mapped_by(1, bytes); };
      if (rank == 1) {
        EXPECT_TRUE(progress_until(*transport, [&] { return witness.descriptors.size() == 1; }));
        EXPECT_NE(witness.descriptors[0].data, nullptr);
        say("silent");
        while (is_killed) ::pause();
        const Status closed = transport->close(10s);
        EXPECT_TRUE(closed) << closed.to_string();
        return say(testing::Test::HasFailure() ? "failed" : "well");
      }
      EXPECT_TRUE(progress_until(*transport, is_mapped));
      EXPECT_EQ(transport->send(1, {}, bytes, Delivery::Descriptor, &token), Started::Pending);
      EXPECT_TRUE(progress_until(*transport, [&] { return witness.ended.size() == 1; }));
      EXPECT_EQ(witness.ended.at(0).code(), is_killed ? Code::PeerFailed : Code::Ok);
      static_cast<void>(transport->close(2s));
      say(testing::Test::HasFailure() ? "failed" : "well");
    });
    ASSERT_EQ(pair[1].line(), "silent");
    if (is_killed) pair[1].signal(SIGKILL);
    EXPECT_EQ(pair[0].line(60s), "well") << (is_killed ? "killed" : "closed");
    EXPECT_EQ(pair[0].wait(), 0);
  }
}

TEST(Ucx, PeersCountAsReachingWhatIsAbandonedInMemoryThatTheyHaveMapped) {
  Process alone([](const Process::Say& say) {
    Two two(make_ranks(shared_memory, 2, 7));
    const Bytes bytes(1 << 20);
    int token = 0;
    send_until_mapped(*two.transports[0], *two.transports[1], two.witness[1], bytes, &token);
    EXPECT_EQ(two.transports[0]->abandon(), Access::Peers);
    EXPECT_EQ(two.transports[1]->abandon(), Access::Nobody);
    say(testing::Test::HasFailure() ? "failed" : "well");
  });
  EXPECT_EQ(alone.line(60s), "well");
}

}  // namespace
}  // namespace lacuna::test
