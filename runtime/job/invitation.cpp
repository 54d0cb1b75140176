#include "runtime/job/invitation.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <memory>
#include <span>

#include "runtime/engine/encoding.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::uint32_t mark = 0x3163616c;  // "lac1"

/// The bytes of an address, which is a text. Empty: it is none.
std::vector<std::byte> bytes_of(const std::string& host) {
  for (const int family : {AF_INET, AF_INET6}) {
    std::vector<std::byte> bytes(family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr));
    if (::inet_pton(family, host.c_str(), bytes.data()) == 1) return bytes;
  }
  return {};
}

std::string host_text(const std::vector<std::byte>& bytes) {
  char text[INET6_ADDRSTRLEN] = "";
  const int family = bytes.size() == sizeof(in_addr) ? AF_INET : AF_INET6;
  if (bytes.size() != sizeof(in_addr) && bytes.size() != sizeof(in6_addr)) return "";
  return ::inet_ntop(family, bytes.data(), text, sizeof(text)) ? text : "";
}

/// Can other hosts use this address? It is not loopback, and not valid on one link only.
bool is_public(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const std::uint32_t four = ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
    return four >> 24 != 127 && four >> 16 != 0xa9fe;  // 169.254.0.0/16
  }
  if (address.sa_family != AF_INET6) return false;
  const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return !IN6_IS_ADDR_LOOPBACK(&six) && !IN6_IS_ADDR_LINKLOCAL(&six);
}

/// The addresses of this host's network devices that work, as texts: those of IPv4, then those of IPv6.
std::vector<std::string> addresses_of_host() {
  constexpr unsigned works = IFF_UP | IFF_RUNNING;
  std::vector<std::string> fours, sixes;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return fours;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if ((one->ifa_flags & works) != works || one->ifa_addr == nullptr || !is_public(*one->ifa_addr)) continue;
    const bool is_four = one->ifa_addr->sa_family == AF_INET;
    const auto* bytes = reinterpret_cast<const std::byte*>(one->ifa_addr);
    const std::size_t length = is_four ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    const SocketAddress address{.family = one->ifa_addr->sa_family, .bytes = {bytes, bytes + length}};
    (is_four ? fours : sixes).push_back(address.host());
  }
  fours.insert(fours.end(), sixes.begin(), sixes.end());
  return fours;
}

}  // namespace

Invitation invitation_to(const SocketAddress& door, std::uint64_t machine) {
  const bool is_everywhere = door.host() == "::" || door.host() == "0.0.0.0";
  return {
      .hosts = is_everywhere ? addresses_of_host() : std::vector{door.host()}, .port = door.port(), .machine = machine};
}

std::string Invitation::key(const std::string& users) const {
  std::string text(reinterpret_cast<const char*>(secret.data()), secret.size());
  return text + users;
}

UniqueId encode(const Invitation& invitation) {
  Encoder encoder;
  encoder.put(mark).put(invitation.port).put(invitation.machine).put(std::span<const std::byte>(invitation.secret));
  UniqueId id;
  for (const std::string& host : invitation.hosts) {
    const std::vector<std::byte> bytes = bytes_of(host);
    if (encoder.bytes().size() + sizeof(std::uint32_t) + bytes.size() <= id.bytes.size()) encoder.put(bytes);
  }
  std::copy(encoder.bytes().begin(), encoder.bytes().end(), id.bytes.begin());
  return id;
}

std::optional<Invitation> decode(const UniqueId& id) {
  Decoder decoder(id.bytes);
  if (decoder.get<std::uint32_t>() != mark) return std::nullopt;
  Invitation invitation;
  invitation.port = decoder.get<std::uint16_t>();
  invitation.machine = decoder.get<std::uint64_t>();
  const auto secret = decoder.bytes(invitation.secret.size());
  if (invitation.port == 0 || secret.size() != invitation.secret.size()) return std::nullopt;
  std::copy(secret.begin(), secret.end(), invitation.secret.begin());
  while (true) {
    const std::string host = host_text(decoder.bytes(sizeof(in6_addr)));
    if (host.empty()) return invitation;
    invitation.hosts.push_back(host);
  }
}

std::vector<SocketAddress> addresses_of(const Invitation& invitation, std::uint64_t machine) {
  std::vector<std::string> hosts;
  if (machine != 0 && machine == invitation.machine) hosts = {"127.0.0.1", "::1"};
  const std::vector<std::string> own = hosts.empty() ? addresses_of_host() : std::vector<std::string>();
  for (const std::string& host : invitation.hosts) {
    if (std::find(own.begin(), own.end(), host) == own.end()) hosts.push_back(host);
  }
  if (hosts.empty()) hosts = invitation.hosts;  // rank 0 is here after all
  if (hosts.empty()) hosts = {"127.0.0.1"};
  std::vector<SocketAddress> addresses;
  for (const std::string& host : hosts) {
    const auto resolved = resolve({.host = host, .port = invitation.port});
    if (resolved) addresses.insert(addresses.end(), resolved->begin(), resolved->end());
  }
  return addresses;
}

}  // namespace lacuna::runtime
