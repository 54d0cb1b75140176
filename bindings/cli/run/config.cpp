#include "bindings/cli/run/config.hpp"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "bindings/cli/run/config_method.hpp"
#include "bindings/cli/run/config_section.hpp"
#include "bindings/cli/run/workloads.hpp"

namespace lacuna::cli {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t most_steps = 1'000'000'000;

/// Reads either `seed` or `seeds`.
std::vector<std::uint64_t> read_seeds(ConfigSection& section) {
  if (section.has("seed") && section.has("seeds")) section.error("seeds", "[run] has both 'seed' and 'seeds'");
  const bool several = section.has("seeds");
  const std::int64_t one = section.integer({"seed", several}, 0, most, 1);
  const std::vector<std::int64_t> all = section.integers({"seeds", !several}, 0, most, {one});
  if (all.empty()) section.error("seeds", "'seeds' is empty; it needs at least one seed");
  if (std::set(all.begin(), all.end()).size() != all.size()) section.error("seeds", "'seeds' has a seed twice");
  return {all.begin(), all.end()};
}

void read_run(ConfigSection& section, RunConfig& config) {
  config.name = section.text({"name"});
  if (config.name.find('/') != std::string::npos) section.error("name", "'name' must not hold a '/'");
  config.output = section.text({"output", true});
  config.seeds = read_seeds(section);
  if (section.has("epochs") == section.has("steps")) {
    section.error("epochs", "[run] needs either 'epochs' or 'steps', not both");
  }
  const auto optional = [&](const char* key) -> std::optional<std::uint64_t> {
    const std::int64_t value = section.integer({key, !section.has(key)}, 1, most_steps, 1);
    return section.has(key) ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
  };
  config.epochs = optional("epochs");
  config.steps = optional("steps");
  config.checkpoint_every = static_cast<std::uint64_t>(section.integer({"checkpoint_every", true}, 0, most_steps, 0));
  config.evaluate_every = static_cast<std::uint64_t>(section.integer({"evaluate_every", true}, 0, most_steps, 0));
  section.finish();
}

void read_workload(ConfigSection& section, Rank ranks, RunConfig& config) {
  const std::string kind = section.one_of({"kind"}, workload_kinds(), std::nullopt);
  config.workload = make_workload(kind, section, ranks);
  if (config.workload) section.finish();
}

void add_method(ConfigSection& section, const Hosts& hosts, RunConfig& config) {
  MethodChoice method = read_method(section, hosts, config.workload.get());
  for (const MethodChoice& earlier : config.methods) {
    if (earlier.label == method.label) {
      section.error("label", fmt::format("there is a method '{}' already; labels must differ", method.label));
    }
  }
  config.methods.push_back(std::move(method));
}

}  // namespace

Result<RunConfig> read_run_config(ConfigSource source) {
  ConfigReport report(source.file);
  RunConfig config;
  try {
    const toml::table root_table = toml::parse(source.text, source.file);
    ConfigSection root(root_table, "", report);
    if (std::optional<ConfigSection> section = root.section("run")) read_run(*section, config);
    if (std::optional<ConfigSection> section = root.section("workload"))
      read_workload(*section, source.hosts.size(), config);
    for (ConfigSection& section : root.sections("method")) add_method(section, source.hosts, config);
    root.finish();
  } catch (const toml::parse_error& error) {
    report.error(error.source(), error.description());
  }
  if (report.has_errors()) return Status(Code::InvalidArgument, report.errors());
  const std::string ranks = fmt::format("ranks = {}\n", source.hosts.size());
  config.text = std::move(source.text);
  config.values = report.values() + ranks;
  config.workload_values = report.values_of("workload", "workload") + ranks;
  for (std::size_t i = 0; i < config.methods.size(); ++i) {
    config.method_values.push_back(report.values_of(fmt::format("method[{}]", i), "method"));
  }
  return config;
}

}  // namespace lacuna::cli
