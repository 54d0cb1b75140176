#include "bindings/cli/info/info.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "bindings/cli/shared/output.hpp"
#include "bindings/cli/shared/provenance.hpp"
#include "bindings/cli/shared/text_table.hpp"
#include "bindings/cli/shared/versions.hpp"
#include "kernels/backend.hpp"
#include "kernels/device.hpp"
#include "runtime/config/config.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/job/launchers.hpp"
#include "runtime/job/listeners.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/processors.hpp"
#include "transports/mapped_segment.hpp"
#include "transports/ucx.hpp"

namespace lacuna::cli {

namespace {

/// Would the ranks of a job that is started in this environment all be on this host?
bool is_on_loopback(const runtime::Config& config) {
  const auto store = runtime::parse_endpoint(config.store);
  return config.store.empty() || (store && runtime::is_on_loopback(*store));
}

/// How UCX starts in the ranks of such a job.
UcxOptions ucx_options(const runtime::Config& config) {
  const bool on_loopback = is_on_loopback(config);
  return {.on_one_host = on_loopback, .shares_memory = on_loopback && ucx_reach({}) != 0};
}

/// Says where the ranks of a job that is started in this environment would listen.
std::string listeners(const runtime::Config& config) {
  const bool launched = config.store.empty(), on_loopback = is_on_loopback(config);
  const auto store = runtime::parse_endpoint(config.store);
  const UcxOptions options = ucx_options(config);
  const auto transport = make_ucx(options);
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
  return fmt::format(
      "rank 0 at {}; UCX, on every rank, {}", rank_zero,
      hosts.empty() ? "nowhere"
                    : fmt::format("at {}, {}, because {}", fmt::join(hosts, " and "),
                                  ports ? fmt::format("ports {}", ports) : "free ports", why_ucx_listens(options)));
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

std::string transports(const runtime::Config& config) {
  const auto devices = ucx_devices(ucx_options(config));
  return devices ? fmt::format("UCX: {}", fmt::join(*devices, ", ")) : std::string(devices.status().message());
}

/// Says whether ranks of this host read each other's memory in place.
std::string mapped_memory(const runtime::Config& config) {
  if (config.mappable == 0) return "none, because LACUNA_MAPPABLE is 0";
  const Status mapped = memory_can_be_mapped();
  return mapped ? "other ranks of this host read lacuna::allocate()'s memory in place" : std::string(mapped.message());
}

void print_text(const runtime::Config& config) {
  const Versions all = versions();
  write_out("{}\n",
            text_table({{"lacuna:", all.lacuna},
                        {"commit:", all.commit},
                        {"compiler:", fmt::format("{}, {}", all.compiler, all.build)},
                        {"UCX:", all.ucx},
                        {"Kokkos:", all.kokkos},
                        {"host:", fmt::format("{}, {}", config.host, count_of(usable_processors(), "processor"))},
                        {"kernels:", kernels_of(config)},
                        {"kernels to choose from:", choice_of_kernels()},
                        {"devices:", kernels::devices_here()},
                        {"transports:", transports(config)},
                        {"mapped memory:", mapped_memory(config)},
                        {"launcher:", launcher(config)},
                        {"listens:", listeners(config)}}));
  std::vector<std::vector<std::string>> rows = {{"variable", "value", "default", ""}};
  for (const runtime::Variable& variable : runtime::variables(config)) {
    const bool set = variable.source == runtime::Variable::Source::Environment;
    rows.push_back({variable.name, variable.value, variable.default_value,
                    fmt::format("{}{}", variable.help, set ? " [from the environment]" : "")});
  }
  write_out("{}", text_table(rows));
}

void print_json(const runtime::Config& config) {
  Json json = provenance();
  json["host"] = config.host;
  json["kernels"] = kernels_of(config);
  for (const kernels::KernelsHere& kernels : kernels::kernels_here()) {
    json["kernels_to_choose_from"].push_back({{"name", kernels.name}, {"problem", kernels.problem}});
  }
  json["devices"] = kernels::devices_here();
  json["transports"] = transports(config);
  json["mapped_memory"] = mapped_memory(config);
  json["launcher"] = launcher(config);
  json["listens"] = listeners(config);
  for (const runtime::Variable& variable : runtime::variables(config)) {
    const bool set = variable.source == runtime::Variable::Source::Environment;
    json["variables"].push_back({{"name", variable.name},
                                 {"value", variable.value},
                                 {"default", variable.default_value},
                                 {"allowed", variable.allowed},
                                 {"from", set ? "environment" : "default"},
                                 {"help", variable.help}});
  }
  write_out("{}", json_text(json));
}

}  // namespace

int info(InfoForm form) {
  if (form == InfoForm::Markdown) {
    write_out("{}", runtime::variables_as_markdown());
    return 0;
  }
  const auto config = runtime::Config::from_environment();
  if (!config) {
    write_error("lacuna: {}\n", config.status().message());
    return 1;
  }
  form == InfoForm::JsonText ? print_json(*config) : print_text(*config);
  return 0;
}

}  // namespace lacuna::cli
