#include "runtime/job/listeners.hpp"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace lacuna::runtime {
namespace {

constexpr std::string_view listening = "0A";

/// Reads an address such as "0100007F:1F90": words of 32 bits as they lie in memory, and the port as a number.
SocketAddress parse(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  std::uint16_t port = 0;
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), port, 16);
  std::uint32_t words[4] = {};
  for (std::size_t i = 0; i < 4 && 8 * i < colon; ++i) {
    std::from_chars(text.data() + 8 * i, text.data() + 8 * i + 8, words[i], 16);
  }
  if (colon == 8) {
    const sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {words[0]}, .sin_zero = {}};
    return address_of(address, AF_INET);
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  std::memcpy(&address.sin6_addr, words, sizeof(words));
  return address_of(address, AF_INET6);
}

/// The addresses of all listening sockets in the network namespace of the process, by inode.
std::map<std::string, SocketAddress> listening_sockets(const std::filesystem::path& process) {
  std::map<std::string, SocketAddress> sockets;
  for (const char* table : {"net/tcp", "net/tcp6"}) {
    std::ifstream lines(process / table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
      if (state == listening) sockets.emplace(fmt::format("socket:[{}]", inode), parse(local));
    }
  }
  return sockets;
}

}  // namespace

std::vector<SocketAddress> listeners_of(pid_t process) {
  const auto folder = std::filesystem::path("/proc") / std::to_string(process);
  const auto sockets = listening_sockets(folder);
  std::vector<SocketAddress> listeners;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder / "fd", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const auto socket = sockets.find(std::filesystem::read_symlink(entry->path(), gone).string());
    if (socket != sockets.end()) listeners.push_back(socket->second);
  }
  return listeners;
}

}  // namespace lacuna::runtime
