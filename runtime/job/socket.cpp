#include "runtime/job/socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <memory>
#include <system_error>

namespace lacuna::runtime {

namespace {

std::string error_text(int error) { return std::generic_category().message(error); }

const sockaddr* as_sockaddr(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(address.bytes.data());
}

Fd open_stream(int family) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return fd;
}

void send_small_messages_at_once(const Fd& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/// Is the socket connected to itself? This may happen, rarely, if connect() is tried again and again with a port of the
/// ephemeral range.
bool is_connected_to_itself(const Fd& socket) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_bytes = sizeof(own);
  socklen_t other_bytes = sizeof(other);
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &own_bytes) != 0) return false;
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&other), &other_bytes) != 0) return false;
  return own_bytes == other_bytes && std::memcmp(&own, &other, own_bytes) == 0;
}

/// Listens at one address. If the result is not open, `error` is the errno.
Fd listen_one(const SocketAddress& address, int& error) {
  Fd fd = open_stream(address.family);
  const int on = 1, off = 0;
  if (address.family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (fd.is_open() && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      ::bind(fd.get(), as_sockaddr(address), static_cast<socklen_t>(address.bytes.size())) == 0 &&
      ::listen(fd.get(), SOMAXCONN) == 0) {
    return fd;
  }
  error = errno;
  return {};
}

/// The IPv4 address inside an IPv6 address, which a socket for both families shows, or else the address itself.
SocketAddress unmapped(const SocketAddress& address) {
  sockaddr_in6 six{};
  if (address.family != AF_INET6 || address.bytes.size() < sizeof(six)) return address;
  std::memcpy(&six, address.bytes.data(), sizeof(six));
  if (!IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) return address;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  std::memcpy(&four.sin_addr, six.sin6_addr.s6_addr + 12, sizeof(four.sin_addr));
  return address_of(four, AF_INET);
}

Result<Fd> connect_one(const SocketAddress& address, const Deadline& deadline) {
  Fd fd = open_stream(address.family);
  if (!fd.is_open()) return Status(Code::Transport, error_text(errno));
  if (::connect(fd.get(), as_sockaddr(address), static_cast<socklen_t>(address.bytes.size())) != 0) {
    if (errno != EINPROGRESS) return Status(Code::Transport, error_text(errno));
    if (!wait_for(fd.get(), POLLOUT, deadline)) return Status(Code::TimedOut, "no answer");
    int error = 0;
    socklen_t bytes = sizeof(error);
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) return Status(Code::Transport, error_text(error));
  }
  if (is_connected_to_itself(fd)) return Status(Code::Transport, "nobody listens there");
  send_small_messages_at_once(fd);
  return fd;
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text, Port port) {
  const std::uint16_t least = port == Port::MayBeFree ? 0 : 1;
  const Status invalid(Code::InvalidArgument,
                       fmt::format("'{}' is not a store: give host:port, such as 127.0.0.1:29500 or [::1]:29500, "
                                   "with a port from {} to 65535",
                                   text, least));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return invalid;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    return invalid;
  }
  Endpoint endpoint{.host = std::string(host), .port = 0};
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, endpoint.port);
  if (host.empty() || error != std::errc() || stop != end || endpoint.port < least) return invalid;
  return endpoint;
}

bool is_on_loopback(const Endpoint& endpoint) {
  if (endpoint.host == "localhost") return true;
  in_addr four{};
  if (::inet_pton(AF_INET, endpoint.host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, endpoint.host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool SocketAddress::is_loopback() const {
  if (family == AF_INET && bytes.size() >= sizeof(sockaddr_in)) {
    sockaddr_in address{};
    std::memcpy(&address, bytes.data(), sizeof(address));
    return (ntohl(address.sin_addr.s_addr) >> 24) == 127;
  }
  if (family == AF_INET6 && bytes.size() >= sizeof(sockaddr_in6)) {
    sockaddr_in6 address{};
    std::memcpy(&address, bytes.data(), sizeof(address));
    return IN6_IS_ADDR_LOOPBACK(&address.sin6_addr) != 0;
  }
  return false;
}

std::string SocketAddress::host() const {
  const SocketAddress shown = unmapped(*this);
  char host[NI_MAXHOST];
  const int error = ::getnameinfo(as_sockaddr(shown), static_cast<socklen_t>(shown.bytes.size()), host, sizeof(host),
                                  nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host : "";
}

std::uint16_t SocketAddress::port() const {
  if (family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(bytes.data())->sin_port);
  return family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6*>(bytes.data())->sin6_port) : std::uint16_t{0};
}

std::string SocketAddress::to_string() const {
  const std::string text = host();
  if (text.empty()) return "an unknown address";
  return text.find(':') == std::string::npos ? fmt::format("{}:{}", text, port())
                                             : fmt::format("[{}]:{}", text, port());
}

Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (error != 0) {
    const bool temporary = error == EAI_AGAIN;
    return Status(temporary ? Code::TimedOut : Code::InvalidArgument,
                  fmt::format("the host '{}' of the store has no address: {}", endpoint.host, ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    const auto* bytes = reinterpret_cast<const std::byte*>(entry->ai_addr);
    addresses.push_back({.family = entry->ai_family, .bytes = {bytes, bytes + entry->ai_addrlen}});
  }
  return addresses;
}

Result<Fd> listen_at(const std::vector<SocketAddress>& addresses) {
  int error = 0;
  for (const SocketAddress& address : addresses) {
    Fd listener = listen_one(address, error);
    if (listener.is_open()) return listener;
  }
  return Status(Code::Transport, error_text(error));
}

Result<Fd> listen_everywhere(std::uint16_t port) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  int error = 0;
  Fd listener = listen_one(address_of(six, AF_INET6), error);
  const bool has_no_six = error == EAFNOSUPPORT || error == EADDRNOTAVAIL;
  if (has_no_six) listener = listen_one(address_of(four, AF_INET), error);
  if (listener.is_open()) return listener;
  return Status(Code::Transport, error_text(error));
}

SocketAddress own_address(const Fd& socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof(own);
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) return {};
  const auto* bytes = reinterpret_cast<const std::byte*>(&own);
  return {.family = own.ss_family, .bytes = {bytes, bytes + length}};
}

Result<Fd> connect_to(const std::vector<SocketAddress>& addresses, const Deadline& deadline) {
  Status last(Code::Transport, "no address");
  auto others = static_cast<int>(addresses.size());
  for (const SocketAddress& address : addresses) {
    Result<Fd> fd = connect_one(address, deadline.not_after(Clock::now() + deadline.left() / others--));
    if (fd) return fd;
    last = fd.status();
  }
  return last;
}

Fd accept_from(const Fd& listener) {
  Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd.is_open()) send_small_messages_at_once(fd);
  return fd;
}

std::string peer_name(const Fd& socket) {
  SocketAddress address{.family = AF_UNSPEC, .bytes = std::vector<std::byte>(sizeof(sockaddr_storage))};
  auto* other = reinterpret_cast<sockaddr*>(address.bytes.data());
  auto bytes = static_cast<socklen_t>(address.bytes.size());
  if (::getpeername(socket.get(), other, &bytes) != 0) return "an unknown address";
  address.family = other->sa_family;
  address.bytes.resize(bytes);
  return address.to_string();
}

bool wait_for(int fd, short events, const Deadline& deadline) {
  while (true) {
    pollfd entry{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, poll_timeout(deadline.next_look()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;
    if (deadline.has_passed()) return false;
  }
}

int poll_timeout(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, INT_MAX));
}

}  // namespace lacuna::runtime
