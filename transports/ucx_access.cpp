#include "transports/ucx_access.hpp"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "transports/ucx_transport.hpp"

namespace lacuna {
namespace {

/// Says who reaches the other side's memory by one of UCX's transports.
Access access_by(std::string_view transport) {
  constexpr std::array<std::string_view, 4> copying = {"self", "tcp", "sysv", "posix"};
  constexpr std::array<std::string_view, 3> reaching_over = {"cma", "knem", "xpmem"};
  const auto is_in = [&](const auto& names) { return std::find(names.begin(), names.end(), transport) != names.end(); };
  if (is_in(copying)) return Access::Nobody;
  return is_in(reaching_over) ? Access::Peers : Access::Devices;
}

template <class Print>
Access access_printed(Print print) {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* stream = ::open_memstream(&text, &length);
  if (!stream) return Access::Devices;
  print(stream);
  std::fclose(stream);
  const Access access = ucx_access_in({text, length});
  std::free(text);
  return access;
}

}  // namespace

Access ucx_access_in(std::string_view printed) {
  constexpr std::string_view word = "abcdefghijklmnopqrstuvwxyz0123456789_";
  bool any = false;
  Access all = Access::Nobody;
  while (!printed.empty()) {
    const std::string_view line = printed.substr(0, printed.find('\n'));
    printed.remove_prefix(std::min(line.size() + 1, printed.size()));
    if (line.find("lane[") == line.npos && line.find("resource ") == line.npos) continue;
    const std::string_view before = line.substr(0, std::min(line.find('/'), line.size()));
    all = std::max(all, access_by(before.substr(before.find_last_not_of(word) + 1)));
    any = true;
  }
  return any ? all : Access::Devices;
}

/// UCX 1.13 can only print which transports an endpoint uses. Without an endpoint, all transports that it may use
/// count.
Access UcxTransport::access() const {
  Access all = Access::Nobody;
  for (const UcxLink& link : links_) {
    if (link.pending == 0 || link.peer == rank_) continue;
    const bool is_known = link.endpoint && link.failure == UCS_OK;
    all = std::max(all, access_printed([&](std::FILE* stream) {
                     is_known ? ucp_ep_print_info(link.endpoint, stream)
                              : ucp_context_print_info(ucx_.context.get(), stream);
                   }));
  }
  const auto is_mapped = [](const UcxOperation& one) { return one.owner && one.kind == UcxKind::Mapped; };
  const auto& operations = operations_.all();
  return std::any_of(operations.begin(), operations.end(), is_mapped) ? std::max(all, Access::Peers) : all;
}

}  // namespace lacuna
