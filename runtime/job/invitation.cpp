#include "runtime/job/invitation.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

namespace lacuna::runtime {
namespace {

constexpr std::string_view version = "lacuna-1";
constexpr std::size_t most_addresses = 8;

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

template <class Number>
bool read_number(std::string_view text, int base, Number& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && stop == text.data() + text.size();
}

std::optional<std::string> read_hexadecimal(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned char byte = 0;
    if (!read_number(text.substr(i, 2), 16, byte)) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

/// The text of an address that other hosts can use, or nothing.
std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    return inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size()) ? text.data() : "";
  }
  if (address.sa_family != AF_INET6) return "";
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr)) return "";
  return inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size()) ? text.data() : "";
}

}  // namespace

std::string encode(const Invitation& invitation) {
  return fmt::format("{}-{}-{:x}-{}-{}", version, invitation.port, invitation.machine, hexadecimal(invitation.key),
                     fmt::join(invitation.hosts, ","));
}

std::optional<Invitation> decode_invitation(std::string_view text) {
  if (!text.starts_with(version)) return std::nullopt;
  text.remove_prefix(version.size());
  std::array<std::string_view, 3> fields;
  for (std::string_view& field : fields) {
    if (text.empty() || text.front() != '-') return std::nullopt;
    text.remove_prefix(1);
    field = text.substr(0, text.find('-'));
    text.remove_prefix(field.size());
  }
  if (text.empty() || text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  Invitation invitation;
  const auto key = read_hexadecimal(fields[2]);
  const bool sound = read_number(fields[0], 10, invitation.port) && read_number(fields[1], 16, invitation.machine);
  if (!sound || !key || invitation.port == 0) return std::nullopt;
  invitation.key = *key;
  while (!text.empty()) {
    const std::string_view host = text.substr(0, text.find(','));
    invitation.hosts.emplace_back(host);
    text.remove_prefix(std::min(host.size() + 1, text.size()));
  }
  return invitation;
}

std::vector<std::string> addresses_of_host() {
  std::vector<std::string> texts;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return texts;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
      const bool is_usable = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
      if (!is_usable || one->ifa_addr == nullptr || one->ifa_addr->sa_family != family) continue;
      const std::string text = text_of(*one->ifa_addr);
      if (!text.empty() && texts.size() < most_addresses) texts.push_back(text);
    }
  }
  return texts;
}

std::vector<SocketAddress> addresses_of(const Invitation& invitation, std::uint64_t machine) {
  const bool is_here = machine != 0 && machine == invitation.machine;
  std::vector<std::string> hosts;
  const std::vector<std::string> own = is_here ? std::vector<std::string>() : addresses_of_host();
  if (is_here) hosts = {"127.0.0.1", "::1"};
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
