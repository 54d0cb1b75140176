#include "transports/ucx.hpp"

#include <sys/socket.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <map>

#include "tests/support/process.hpp"
#include "tests/transports/transport_conformance.hpp"

namespace lacuna::test {
namespace {

using Steady = std::chrono::steady_clock;

/// Sets UCX_TLS while transports are made.
class Devices {
 public:
  explicit Devices(const std::string& names) {
    if (const char* before = std::getenv("UCX_TLS")) before_ = before;
    ::setenv("UCX_TLS", names.c_str(), 1);
  }
  ~Devices() { before_.empty() ? ::unsetenv("UCX_TLS") : ::setenv("UCX_TLS", before_.c_str(), 1); }
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

 private:
  std::string before_;
};

std::vector<std::unique_ptr<Transport>> make_ranks(const std::string& devices, Rank size, std::uint64_t host = 0) {
  const Devices chosen(devices);
  std::vector<std::unique_ptr<Transport>> transports;
  for (Rank rank = 0; rank < size; ++rank) {
    auto transport = make_ucx({.host = host});
    if (!transport) throw std::runtime_error(transport.status().to_string());
    transports.push_back(std::move(*transport));
  }
  return transports;
}

Backend backend(const std::string& name, const std::string& devices, std::uint64_t host = 0) {
  return {name, [devices, host](Rank size) { return make_ranks(devices, size, host); }};
}

const std::string shared_memory = "posix,sysv,self";
const std::string tcp = "tcp,self";

INSTANTIATE_TEST_SUITE_P(Ucx, TransportConformance,
                         testing::Values(backend("ucx_shared_memory", shared_memory), backend("ucx_tcp", tcp),
                                         backend("ucx_shared_memory_mapped", shared_memory, 7),
                                         backend("ucx_tcp_mapped", tcp, 7)),
                         backend_name);

TEST(Ucx, BeforeItIsConnectedThereIsNoTraffic) {
  const auto transports = make_ranks(tcp, 1);
  EXPECT_EQ(transports[0]->counters(0).messages_sent, 0u);
}

/// Records failures of peers and ends of operations, and does not judge them.
class Witness final : public Receiver {
 public:
  void on_message(Peer, std::span<const std::byte>, std::span<const std::byte>) override { ++messages; }
  void on_descriptor(Peer, std::span<const std::byte>, Descriptor descriptor) override {
    descriptors.push_back(descriptor);
  }
  void on_complete(Token, const Status& status) override { ended.push_back(status); }
  void on_peer_failure(Peer peer, const Status& status) override { failed[peer] = status; }

  std::size_t messages = 0;
  std::vector<Descriptor> descriptors;
  std::vector<Status> ended;
  std::map<Peer, Status> failed;
};

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

/// Returns true if the condition holds in time.
bool progress_until(Transport& transport, const std::function<bool()>& condition) {
  const auto end = Steady::now() + patience;
  while (!condition()) {
    if (Steady::now() > end) return false;
    if (!transport.progress()) std::this_thread::yield();
  }
  return true;
}

/// How two processes reach each other.
struct Network {
  const char* name;
  std::string devices;
  std::uint64_t host = 0;  ///< UcxOptions::host
};

const Network over_shared_memory = {"shared_memory", shared_memory}, over_tcp = {"tcp", tcp};
const Network mapped = {"shared_memory_mapped", shared_memory, 7}, mapped_over_tcp = {"tcp_mapped", tcp, 7};

/// Two processes that exchange their addresses, and then do what a function says.
class Pair {
 public:
  using Body = std::function<void(Rank rank, std::unique_ptr<Transport> transport, std::vector<Address> addresses,
                                  const Process::Say& say)>;

  Pair(const Network& network, const Body& body) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::runtime_error("no socket pair");
    for (Rank rank = 0; rank < 2; ++rank) {
      ranks_.emplace_back([&](const Process::Say& say) {
        auto transport = std::move(make_ranks(network.devices, 1, network.host).front());
        auto addresses = exchange(ends[rank], rank, transport->address());
        body(rank, std::move(transport), std::move(addresses), say);
      });
    }
    for (int end : ends) ::close(end);
  }

  Process& operator[](std::size_t rank) { return ranks_[rank]; }

 private:
  static std::vector<Address> exchange(int socket, Rank rank, const Address& mine) {
    const std::size_t size = mine.size();
    std::size_t peers_size = 0;
    const bool told = ::write(socket, &size, sizeof size) == sizeof size &&
                      ::write(socket, mine.data(), size) == static_cast<ssize_t>(size) &&
                      ::recv(socket, &peers_size, sizeof peers_size, MSG_WAITALL) == sizeof peers_size;
    Address peers(peers_size);
    if (!told || ::recv(socket, peers.data(), peers_size, MSG_WAITALL) != static_cast<ssize_t>(peers_size)) ::_exit(2);
    return rank == 0 ? std::vector{mine, peers} : std::vector{peers, mine};
  }

  std::vector<Process> ranks_;
};

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
