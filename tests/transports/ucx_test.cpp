#include "transports/ucx.hpp"

#include <array>
#include <csignal>
#include <cstdlib>

#include "tests/transports/ucx_ranks.hpp"

namespace lacuna::test {
namespace {

Backend backend(const std::string& name, const std::string& devices, std::uint64_t host = 0) {
  return {name, [devices, host](Rank size) { return make_ranks(devices, size, host); }};
}

INSTANTIATE_TEST_SUITE_P(Ucx, TransportConformance,
                         testing::Values(backend("ucx_shared_memory", shared_memory), backend("ucx_tcp", tcp),
                                         backend("ucx_shared_memory_mapped", shared_memory, 7),
                                         backend("ucx_tcp_mapped", tcp, 7)),
                         backend_name);

TEST(Ucx, BeforeItIsConnectedThereIsNoTraffic) {
  const auto transports = make_ranks(tcp, 1);
  EXPECT_EQ(transports[0]->counters(0).messages_sent, 0u);
}

TEST(Ucx, MoreRanksThanItsMessagesCanNameAreRefused) {
  const auto transports = make_ranks(tcp, 1);
  Witness witness;
  const Status refused = transports[0]->connect(std::vector(16'385, transports[0]->address()), witness);
  EXPECT_EQ(refused.message(), "16385 addresses; there may be 16384 at most, and one of them is this process's");
}

// It runs in a new process, because what is abandoned stays until the process ends.
TEST(Ucx, NobodyReachesTheMemoryOfWhatIsAbandonedOverTcpAndSharedMemory) {
  Process alone([](const Process::Say& say) {
    for (const std::string& devices : {tcp, shared_memory, std::string("all")}) {
      auto transports = make_ranks(devices, 2);
      Witness witness[2];
      const std::vector<std::vector<std::byte>> addresses = {transports[0]->address(), transports[1]->address()};
      for (std::size_t rank : {0, 1}) EXPECT_TRUE(transports[rank]->connect(addresses, witness[rank]));
      const Bytes bytes(1 << 20);
      int token = 0;
      EXPECT_EQ(transports[0]->send(1, {}, bytes, Delivery::Descriptor, &token), Started::Pending);
      const auto end = Steady::now() + patience;
      while (witness[1].descriptors.empty() && Steady::now() < end) {
        for (const auto& transport : transports) transport->progress();
      }
      EXPECT_EQ(transports[0]->abandon(), Access::Nobody) << devices;
      EXPECT_EQ(transports[1]->abandon(), Access::Nobody) << devices << ", where nothing is pending";
    }
    say(testing::Test::HasFailure() ? "failed" : "well");
  });
  EXPECT_EQ(alone.line(60s), "well");
}

class UcxProcesses : public testing::TestWithParam<Network> {};

INSTANTIATE_TEST_SUITE_P(Ucx, UcxProcesses, testing::Values(over_shared_memory, over_tcp, mapped, mapped_over_tcp),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(UcxProcesses, APeerThatHasDiedBeforeTheFirstMessageIsAFailureAndNoAbort) {
  Pair pair(GetParam(), [](Rank rank, auto transport, auto addresses, const Process::Say& say) {
    Witness witness;
    EXPECT_TRUE(transport->connect(addresses, witness));
    if (rank == 1) ::_exit(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const Bytes header = header_for(1, 48);
    transport->send(1, header, {}, Delivery::Eager, &witness);
    const auto end = Steady::now() + std::chrono::seconds(2);
    while (witness.failed.empty() && Steady::now() < end) transport->progress();
    for (int round = 0; round < 1000; ++round) transport->progress();
    say(witness.failed.empty() ? "silence" : "failed");
  });
  const std::string end = pair[0].line();
  EXPECT_TRUE(end == "failed" || GetParam().devices != tcp) << end;
  EXPECT_EQ(pair[0].wait(), 0);
}

/// The sizes of what each rank sends to the other. A negative size means a descriptor.
std::vector<std::ptrdiff_t> sizes_around(std::ptrdiff_t limit) {
  std::vector<std::ptrdiff_t> sizes = {limit - 64, limit - 1,  limit,   -1,         -100,
                                       -limit,     -limit - 1, -300000, -(1 << 20), -(64 << 20)};
  for (std::ptrdiff_t size = 0; size < 200; ++size) sizes.push_back(size);  // some are longer than UCX's inline sends
  for (std::ptrdiff_t size = 4096; size < limit; size += 4001) sizes.push_back(size);
  return sizes;
}

TEST_P(UcxProcesses, EverySizeArrivesIntactInBothDirectionsAtOnce) {
  Pair pair(GetParam(), [](Rank rank, auto transport, auto addresses, const Process::Say& say) {
    Node node(std::move(transport));
    EXPECT_TRUE(node.transport().connect(addresses, node));
    const auto sizes = sizes_around(static_cast<std::ptrdiff_t>(node.transport().eager_limit()));
    for (std::size_t key = 0; key < sizes.size(); ++key) {
      const auto size = static_cast<std::size_t>(std::abs(sizes[key]));
      node.send(static_cast<Peer>(1 - rank), header_for(key, 48), pattern(size, key),
                sizes[key] < 0 ? Delivery::Descriptor : Delivery::Eager);
    }
    const auto end = Steady::now() + patience;
    while ((node.arrived.size() < sizes.size() || node.pending() > 0) && Steady::now() < end) node.progress();
    std::vector<int> times(sizes.size());
    for (const auto& message : node.arrived) {
      const auto key = key_of(message.header);
      const auto size = static_cast<std::size_t>(std::abs(sizes.at(key)));
      EXPECT_TRUE(message.header == header_for(key, 48) && message.bytes == pattern(size, key)) << size << " bytes";
      ++times[key];
    }
    EXPECT_EQ(times, std::vector<int>(sizes.size(), 1));
    EXPECT_TRUE(node.failures.empty());
    const Status closed = node.close(10s);
    EXPECT_TRUE(closed) << closed.to_string();
    say(testing::Test::HasFailure() ? "failed" : "well");
  });
  EXPECT_EQ(pair[0].line(60s), "well");
  EXPECT_EQ(pair[1].line(60s), "well");
  EXPECT_EQ(pair[0].wait(), 0);
  EXPECT_EQ(pair[1].wait(), 0);
}

/// Rank 0 has messages under way to a peer that does nothing any more, and closes.
void close_beside(Rank rank, Transport& transport, const std::vector<Address>& addresses, const Process::Say& say) {
  Witness witness;
  EXPECT_TRUE(transport.connect(addresses, witness));
  const Bytes header(48), bytes(8 << 20);
  if (rank == 1) {
    EXPECT_TRUE(progress_until(transport, [&] { return !witness.descriptors.empty() && witness.messages == 1; }));
    Bytes place(bytes.size());
    int token = 0;
    transport.send(0, header, std::span(bytes).first(64), Delivery::Eager, &token);
    transport.send(0, header, bytes, Delivery::Descriptor, &token);
    for (int i = 0; i < 100; ++i) transport.progress();
    transport.fetch(witness.descriptors[0], place.data(), &token);
    say("silent");
    for (;;) ::pause();
  }
  int token = 0;
  transport.send(1, header, bytes, Delivery::Descriptor, &token);
  transport.send(1, header, {}, Delivery::Eager, &token);
  EXPECT_TRUE(progress_until(transport, [&] { return !witness.descriptors.empty() && witness.messages == 1; }));
  Bytes place(bytes.size());
  transport.fetch(witness.descriptors[0], place.data(), &token);
  for (int i = 0; i < 100; ++i) {
    transport.send(1, header, std::span(bytes).first(transport.eager_limit()), Delivery::Eager, &token);
  }
  const auto start = Steady::now();
  const Status closed = transport.close(400ms);
  EXPECT_LT(Steady::now() - start, 10s);
  say(testing::Test::HasFailure() ? "failed" : "closed: " + closed.to_string());
}

TEST_P(UcxProcesses, ClosingBesideAKilledPeerEndsByItsDeadline) {
  Pair pair(GetParam(), [](Rank rank, auto transport, auto addresses, const Process::Say& say) {
    close_beside(rank, *transport, addresses, say);
  });
  ASSERT_EQ(pair[1].line(), "silent");
  pair[1].signal(SIGKILL);
  EXPECT_TRUE(pair[0].line(60s).starts_with("closed: "));
  EXPECT_EQ(pair[0].wait(), 0);
}

TEST_P(UcxProcesses, ClosingBesideAStoppedPeerEndsByItsDeadlineAndNamesThePeer) {
  Pair pair(GetParam(), [](Rank rank, auto transport, auto addresses, const Process::Say& say) {
    close_beside(rank, *transport, addresses, say);
  });
  ASSERT_EQ(pair[1].line(), "silent");
  pair[1].signal(SIGSTOP);
  const std::string said = pair[0].line(60s);
  EXPECT_TRUE(said.starts_with("closed: timed out") && said.find("rank 1") != said.npos) << said;
  EXPECT_EQ(pair[0].wait(), 0);
}

TEST_P(UcxProcesses, WhatWasSentBeforeAnEarlyCloseArrivesAndThePeerHasNotFailed) {
  Pair pair(GetParam(), [](Rank rank, auto transport, auto addresses, const Process::Say& say) {
    Witness witness;
    constexpr std::size_t messages = 2000;
    EXPECT_TRUE(transport->connect(addresses, witness));
    const Bytes bytes(transport->eager_limit());
    int token = 0;
    if (rank == 0) {
      for (std::size_t i = 0; i < messages; ++i) transport->send(1, {}, bytes, Delivery::Eager, &token);
      const Status closed = transport->close(30s);
      EXPECT_TRUE(closed) << closed.to_string();
      return say(testing::Test::HasFailure() ? "failed" : "well");
    }
    EXPECT_TRUE(progress_until(*transport, [&] { return witness.messages == messages; }));
    const auto end = Steady::now() + 300ms;
    while (Steady::now() < end) transport->progress();
    EXPECT_TRUE(witness.failed.empty());
    EXPECT_EQ(transport->send(0, {}, bytes, Delivery::Eager, &token), Started::Pending);
    EXPECT_TRUE(progress_until(*transport, [&] { return !witness.ended.empty(); }));
    EXPECT_EQ(witness.ended.at(0).code(), Code::PeerFailed);
    const Status closed = transport->close(30s);
    EXPECT_TRUE(closed) << closed.to_string();
    say(testing::Test::HasFailure() ? "failed" : "well");
  });
  EXPECT_EQ(pair[0].line(60s), "well");
  EXPECT_EQ(pair[1].line(60s), "well");
}

TEST(Ucx, AKilledPeerOverTcpIsReportedAndEndsWhatWasPending) {
  Pair pair(over_tcp, [](Rank rank, auto transport, auto addresses, const Process::Say& say) {
    Witness witness;
    EXPECT_TRUE(transport->connect(addresses, witness));
    const Bytes bytes(1 << 20);
    int token = 0;
    if (rank == 0) transport->send(1, {}, bytes, Delivery::Descriptor, &token);
    if (rank == 1) {
      EXPECT_TRUE(progress_until(*transport, [&] { return witness.descriptors.size() == 1; }));
      say("silent");
      for (;;) ::pause();
    }
    EXPECT_TRUE(progress_until(*transport, [&] { return witness.failed.size() == 1 && witness.ended.size() == 1; }));
    EXPECT_EQ(witness.failed[1].code(), Code::PeerFailed);
    EXPECT_FALSE(witness.ended.at(0));
    transport->send(1, {}, bytes, Delivery::Eager, &token);
    EXPECT_TRUE(progress_until(*transport, [&] { return witness.ended.size() == 2; }));
    EXPECT_EQ(witness.ended.at(1).code(), Code::PeerFailed);
    say(testing::Test::HasFailure() ? "failed" : "well");
  });
  ASSERT_EQ(pair[1].line(), "silent");
  pair[1].signal(SIGKILL);
  EXPECT_EQ(pair[0].line(60s), "well");
  EXPECT_EQ(pair[0].wait(), 0);
}

// A rank that fails before connect() ends its transport. Peers that came further have sent it messages.
TEST(Ucx, WhatHasComeBeforeItIsConnectedDoesNotKeepItFromClosing) {
  for (const std::string& devices : {shared_memory, tcp}) {
    Process alone([&](const Process::Say& say) {
      auto transports = make_ranks(devices, 2);
      Witness witness;
      EXPECT_TRUE(transports[1]->connect({transports[0]->address(), transports[1]->address()}, witness));
      const Bytes bytes(64);
      int token = 0;
      transports[1]->send(0, {}, bytes, Delivery::Eager, &token);
      for (int round = 0; round < 10'000; ++round) transports[1]->progress();
      EXPECT_TRUE(transports[0]->close(0ms));
      transports.erase(transports.begin());
      say(testing::Test::HasFailure() ? "failed" : "well");
    });
    EXPECT_EQ(alone.line(), "well") << devices;
  }
}

TEST(Ucx, AddressesWithoutItsOwnAreRefused) {
  auto transports = make_ranks(tcp, 2);
  Witness witness;
  const Status refused = transports[0]->connect({transports[1]->address()}, witness);
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  EXPECT_NE(refused.message().find("1 address; "), std::string_view::npos);
}

TEST(Ucx, TheEagerLimitFitsTheSegmentOfTheDevicesInUse) {
  const std::size_t limit_over_tcp = make_ranks(tcp, 1)[0]->eager_limit();
  const std::size_t over_both = make_ranks("tcp,posix,sysv,self", 1)[0]->eager_limit();
  EXPECT_LT(limit_over_tcp, UcxOptions().tcp_segment);
  EXPECT_LT(over_both, UcxOptions().shared_memory_segment);
  EXPECT_GT(limit_over_tcp, UcxOptions().tcp_segment * 9 / 10);
  EXPECT_GT(over_both, UcxOptions().shared_memory_segment * 9 / 10);
}

TEST(Ucx, VariablesThatAreSetAlreadyStayAsTheyAre) {
  Pair pair(over_shared_memory, [](Rank, auto, auto, const Process::Say& say) {
    ::setenv("UCX_POSIX_SEG_SIZE", "8256", 1);
    const std::size_t limit = make_ranks(shared_memory, 1)[0]->eager_limit();
    say(std::getenv("UCX_POSIX_SEG_SIZE") == std::string("8256") && limit < 8256 ? "kept" : "overwritten");
  });
  EXPECT_EQ(pair[0].line(), "kept");
  EXPECT_EQ(pair[1].line(), "kept");
}

}  // namespace
}  // namespace lacuna::test
