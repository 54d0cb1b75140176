#include <ucp/api/ucp.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "transports/ucx.hpp"
#include "transports/ucx_worker.hpp"

namespace lacuna {

/// UCX 1.13 can only print them, as lines such as "#   resource 2  :  md 0  dev 1  flags -- tcp/lo".
Result<std::vector<std::string>> ucx_devices(const UcxOptions& options) {
  const auto ucx = start_ucx(options);
  if (!ucx) return ucx.status();
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* stream = ::open_memstream(&text, &length);
  if (!stream) return Status(Code::Io, "there is no memory for what UCX prints");
  ucp_context_print_info(ucx->context.get(), stream);
  std::fclose(stream);
  std::istringstream lines(std::string(text, length));
  std::free(text);
  std::vector<std::string> devices;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("resource ") != std::string::npos) devices.push_back(line.substr(line.find_last_of(' ') + 1));
  }
  return devices;
}

}  // namespace lacuna
