#include "bindings/cli/info.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <thread>

#include "bindings/cpp/lacuna.hpp"
#include "runtime/config.hpp"
#include "transports/ucx.hpp"

namespace lacuna::cli {

int info(bool markdown) {
  if (markdown) {
    fmt::print("{}", runtime::variables_as_markdown());
    return 0;
  }
  const auto config = runtime::Config::from_environment();
  if (!config) {
    fmt::print(stderr, "lacuna: {}\n", config.status().message());
    return 1;
  }
  fmt::print("lacuna {}, built by {} {}\n", version(), LACUNA_COMPILER, LACUNA_BUILD_TYPE);
  fmt::print("UCX {}, {} processors, host {}\n", ucx_version(), std::thread::hardware_concurrency(), config->host);
  fmt::print("memory: host (device memory is not served)\n\n");
  fmt::print("{:<26} {:<16} {:<16} {}\n", "variable", "value", "default", "");
  for (const runtime::Variable& variable : runtime::variables(*config)) {
    const bool set = variable.source == runtime::Variable::Source::Environment;
    fmt::print("{:<26} {:<16} {:<16} {}{}\n", variable.name, variable.value, variable.default_value, variable.help,
               set ? " [from the environment]" : "");
  }
  return 0;
}

}  // namespace lacuna::cli
