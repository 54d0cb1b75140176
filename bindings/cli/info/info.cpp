#include "bindings/cli/info/info.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "kernels/backend.hpp"
#include "runtime/config/config.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/job/launchers.hpp"
#include "runtime/job/listeners.hpp"
#include "transports/ucx.hpp"

namespace lacuna::cli {

namespace {

/// Says where the ranks of a job that is started in this environment would listen.
std::string listeners(const runtime::Config& config) {
  const bool launched = config.store.empty();
  const auto store = runtime::parse_endpoint(config.store);
  const bool on_loopback = launched || (store && runtime::is_on_loopback(*store));
  const auto transport = make_ucx({.on_one_host = on_loopback});
  if (!transport) return fmt::format("nowhere: {}", transport.status().message());
  std::set<std::string> hosts;
  for (const runtime::SocketAddress& address : runtime::listeners_of(::getpid())) {
    const std::string text = address.to_string();
    hosts.insert(text.substr(0, text.rfind(':')));
  }
  const char* ports = std::getenv("UCX_TCP_PORT_RANGE");
  std::string rank_zero = config.store;
  if (launched) rank_zero = "127.0.0.1, a free port (lacuna launch)";
  if (!on_loopback && store) rank_zero = fmt::format("all addresses of its host, port {}", store->port);
  return fmt::format("rank 0 at {}; UCX, on every rank, {}", rank_zero,
                     hosts.empty() ? "nowhere"
                                   : fmt::format("at {}, {}", fmt::join(hosts, " and "),
                                                 ports ? fmt::format("ports {}", ports) : "free ports"));
}

/// Says which kernels this environment would use.
std::string kernels_of(const runtime::Config& config) {
  const auto backend = kernels::backend_named(config.kernels);
  return backend ? std::string((*backend)->name()) : std::string(backend.status().message());
}

/// Says what LACUNA_KERNELS may name here, and why it may not name the rest.
std::string choice_of_kernels() {
  std::vector<std::string> names, others;
  for (const kernels::KernelsHere& kernels : kernels::kernels_here()) {
    if (kernels.problem.empty()) {
      names.push_back(kernels.name);
    } else {
      others.push_back(fmt::format("; not {}: {}", kernels.name, kernels.problem));
    }
  }
  return fmt::format("{}{}", fmt::join(names, ", "), fmt::join(others, ""));
}

/// Says how a program that is started here finds its place in a job.
std::string launcher(const runtime::Config& config) {
  if (config.rank || config.size) return "none is asked, because LACUNA_RANK or LACUNA_SIZE is set";
  const auto found = runtime::find_launcher();
  if (!found) return std::string(found.status().message());
  if (!*found) return "none";
  return fmt::format("{}: rank {} of {}", (*found)->by, (*found)->rank, (*found)->size);
}

}  // namespace

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
  fmt::print("kernels: {}\n", kernels_of(*config));
  fmt::print("kernels to choose from: {}\n", choice_of_kernels());
  fmt::print("memory: host (device memory is not served)\n");
  fmt::print("launcher: {}\n", launcher(*config));
  fmt::print("listens: {}\n\n", listeners(*config));
  fmt::print("{:<26} {:<16} {:<16} {}\n", "variable", "value", "default", "");
  for (const runtime::Variable& variable : runtime::variables(*config)) {
    const bool set = variable.source == runtime::Variable::Source::Environment;
    fmt::print("{:<26} {:<16} {:<16} {}{}\n", variable.name, variable.value, variable.default_value, variable.help,
               set ? " [from the environment]" : "");
  }
  return 0;
}

}  // namespace lacuna::cli
