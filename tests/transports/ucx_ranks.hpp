#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <stdexcept>

#include "tests/support/process.hpp"
#include "tests/transports/transport_conformance.hpp"
#include "transports/ucx.hpp"

// Ranks over UCX, in one process or in several.
namespace lacuna::test {

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

inline std::vector<std::unique_ptr<Transport>> make_ranks(const std::string& devices, Rank size,
                                                          std::uint64_t host = 0) {
  const Devices chosen(devices);
  std::vector<std::unique_ptr<Transport>> transports;
  for (Rank rank = 0; rank < size; ++rank) {
    auto transport = make_ucx({.host = host});
    if (!transport) throw std::runtime_error(transport.status().to_string());
    transports.push_back(std::move(*transport));
  }
  return transports;
}

inline const std::string shared_memory = "posix,sysv,self";
inline const std::string tcp = "tcp,self";

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

/// Returns true if the condition holds in time.
inline bool progress_until(Transport& transport, const std::function<bool()>& condition) {
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

inline const Network over_shared_memory = {"shared_memory", shared_memory}, over_tcp = {"tcp", tcp};
inline const Network mapped = {"shared_memory_mapped", shared_memory, 7}, mapped_over_tcp = {"tcp_mapped", tcp, 7};

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

}  // namespace lacuna::test
