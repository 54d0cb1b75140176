#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/deadline.hpp"
#include "runtime/values/fd.hpp"
#include "runtime/values/status.hpp"

struct addrinfo;

namespace lacuna::runtime {

/// A host and a port as the user writes them, such as "host:port", "127.0.0.1:29500" or "[::1]:29500".
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

/// Does the text itself say that the endpoint is on loopback? It does if the host is localhost or a loopback address.
/// Other names are not looked up, because they may mean different addresses on the hosts of a job.
bool is_on_loopback(const Endpoint& endpoint);

/// May a port be 0, which stands for a free one?
enum class Port { IsGiven, MayBeFree };

/// Reads an endpoint. If the text is no endpoint, or the port is 0 and may not be, the error is InvalidArgument and
/// says what is allowed.
Result<Endpoint> parse_endpoint(std::string_view text, Port port = Port::IsGiven);

/// A resolved TCP address: a sockaddr of its family.
struct SocketAddress {
  int family = 0;
  std::vector<std::byte> bytes;

  bool is_loopback() const;
  /// A text such as "127.0.0.1" or "::1"; empty: the family is unknown. IPv4 addresses are written as in to_string().
  std::string host() const;
  std::uint16_t port() const;
  /// A text such as "127.0.0.1:4242" or "[::1]:4242". An IPv4 address that a socket for both families shows is written
  /// as IPv4.
  std::string to_string() const;
};

/// The address that a sockaddr_in or a sockaddr_in6 has.
template <class T>
SocketAddress address_of(const T& sockaddr, int family) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&sockaddr);
  return {.family = family, .bytes = {bytes, bytes + sizeof(sockaddr)}};
}

/// Returns the addresses of an endpoint in the resolver's order, at least one. It blocks as long as the resolver does.
/// The error is TimedOut if the resolver asks to try again, or else InvalidArgument.
Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint);

// The sockets of all these functions do not block, and are closed in programs that the process executes.

/// Listens at the first of the addresses that belongs to this host.
Result<Fd> listen_at(const std::vector<SocketAddress>& addresses);
/// Listens on all addresses of this host, IPv4 and IPv6 if it has both. Port 0: at a free port.
Result<Fd> listen_everywhere(std::uint16_t port);
/// This end of a socket. Without one the family is 0.
SocketAddress own_address(const Fd& socket);
/// Connects to the first of the addresses that answers before the deadline. The addresses that are left share the time
/// that is left, so that an address that never answers leaves time for the others.
Result<Fd> connect_to(const std::vector<SocketAddress>& addresses, const Deadline& deadline);
/// Takes the next connection that waits at a listening socket. If there is none, the result is not open, and errno says
/// why.
Fd accept_from(const Fd& listener);

/// The other end of a connection, as SocketAddress::to_string() writes it.
std::string peer_name(const Fd& socket);

/// Sleeps until one of `events` (see poll(2)) or an error has come, or until the deadline. Returns false at the
/// deadline.
bool wait_for(int fd, short events, const Deadline& deadline);

/// The time that poll(2) must wait so that it does not wake before `until`: in milliseconds, rounded up, never
/// negative.
int poll_timeout(Clock::time_point until);

}  // namespace lacuna::runtime
