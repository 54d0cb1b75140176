#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/fd.hpp"
#include "runtime/values/clock.hpp"
#include "runtime/values/status.hpp"

struct addrinfo;

namespace lacuna::runtime {

/// A host and a port as the user writes them: "host:port", "127.0.0.1:29500", "[::1]:29500".
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

/// Does the text itself say that the endpoint is on loopback: is its host localhost or a loopback address? Nothing is
/// looked up: what other names stand for may differ between the hosts of a job.
bool is_on_loopback(const Endpoint& endpoint);

/// InvalidArgument, with what is allowed, if the text is not an endpoint or its port is 0.
Result<Endpoint> parse_endpoint(std::string_view text);

/// A resolved TCP address: a sockaddr of its family.
struct SocketAddress {
  int family = 0;
  std::vector<std::byte> bytes;

  bool is_loopback() const;
  /// "127.0.0.1:4242", "[::1]:4242". An IPv4 address that a socket for both families shows is written as IPv4.
  std::string to_string() const;
};

/// The addresses of an endpoint, in the resolver's order; at least one. Blocks as long as the resolver does.
/// TimedOut if the resolver asks to try again, else InvalidArgument.
Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint);

/// All sockets do not block and are closed in programs that the process executes.
/// Listens at the first of the addresses that belongs to this host.
Result<Fd> listen_at(const std::vector<SocketAddress>& addresses);
/// Listens on all addresses of this host: of both families if it has both.
Result<Fd> listen_everywhere(std::uint16_t port);
/// Connects to the first of the addresses that answers before the deadline. Each has an equal share of the time that is
/// left when its turn comes, so that one which never answers leaves some to the others.
Result<Fd> connect_to(const std::vector<SocketAddress>& addresses, Clock::time_point deadline);
/// The next connection that waits at a listening socket; not open, and errno says why, if there is none.
Fd accept_from(const Fd& listener);

/// The other end of a connection, as SocketAddress::to_string() writes it.
std::string peer_name(const Fd& socket);

/// Sleeps until one of `events` (see poll(2)) or an error is there, or until the deadline; false in the latter case.
bool wait_for(int fd, short events, Clock::time_point deadline);

/// What poll(2) should wait so as not to wake before `until`: milliseconds, rounded up; never negative.
int poll_timeout(Clock::time_point until);

}  // namespace lacuna::runtime
