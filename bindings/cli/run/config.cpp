#include "bindings/cli/run/config.hpp"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "bindings/cli/run/config_method.hpp"
#include "bindings/cli/run/config_section.hpp"
#include "bindings/cli/run/workloads.hpp"

namespace lacuna::cli {
namespace {

constexpr std::int64_t most_seed = std::numeric_limits<std::int64_t>::max();

/// Reads either `seed` or `seeds`.
std::vector<std::uint64_t> read_seeds(ConfigSection& section) {
  if (section.has("seed") && section.has("seeds")) section.error("seeds", "[run] has both 'seed' and 'seeds'");
  const bool several = section.has("seeds");
  const Key seed{"seed", "all random choices follow from it", several},
      seeds{"seeds", "in place of seed: everything is done with each of them", !several};
  const std::int64_t one = section.integer(seed, 0, most_seed, 1);
  const std::vector<std::int64_t> all = section.integers(seeds, 0, most_seed, {one});
  if (all.empty()) section.error("seeds", "'seeds' is empty; it needs at least one seed");
  if (std::set(all.begin(), all.end()).size() != all.size()) section.error("seeds", "'seeds' has a seed twice");
  return {all.begin(), all.end()};
}

void read_run(ConfigSection& section, RunConfig& config) {
  const auto steps = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  config.name = section.text({"name", "the result file is called OUTPUT/NAME.h5"});
  if (config.name.find('/') != std::string::npos) section.error("name", "'name' must not hold a '/'");
  config.output = section.text(
      {"output", "the folder of checkpoints and results, relative to the current folder; it may change", true});
  config.seeds = read_seeds(section);
  if (section.has("epochs") == section.has("steps")) {
    section.error("epochs", "[run] needs either 'epochs' or 'steps', not both");
  }
  const auto epochs = section.optional_integer(
      {"epochs", "how often each method goes through the training data; either this or steps"}, 1, most_steps);
  const auto all = section.optional_integer({"steps", "how many steps each method does"}, 1, most_steps);
  if (epochs) config.epochs = steps(*epochs);
  if (all) config.steps = steps(*all);
  config.checkpoint_every = steps(
      section.integer({"checkpoint_every",
                       "steps from one checkpoint to the next; 0: only at the end of each method; it may change", true},
                      0, most_steps, 0));
  config.evaluate_every = steps(section.integer(
      {"evaluate_every", "steps between evaluations within an epoch; 0: only after each epoch; it may change", true}, 0,
      most_steps, 0));
  section.finish();
}

constexpr Key kind_key{"kind", "which work is done"};

void read_workload(ConfigSection& section, Rank ranks, RunConfig& config) {
  const std::string kind = section.one_of(kind_key, workload_kinds(), std::nullopt);
  config.workload = make_workload(kind, section, ranks);
  if (!config.workload) return;
  section.finish();
  if (config.epochs && !config.workload->has_epochs()) {
    section.error("kind", fmt::format("a workload of the kind '{}' has no epochs: [run] needs 'steps'", kind));
  }
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

std::string keys_as_markdown() {
  const toml::table nothing;
  const auto table_of = [](const std::vector<KeyInfo>& keys) {
    std::string text = "| key | default | allowed | |\n|---|---|---|---|\n";
    for (const KeyInfo& key : keys) {
      text += fmt::format("| `{}` | {} | {} | {} |\n", key.name, key.fallback.empty() ? "" : '`' + key.fallback + '`',
                          key.allowed, key.help);
    }
    return text;
  };
  RunConfig ignored;
  ConfigReport run("");
  ConfigSection section(nothing, "run", run);
  read_run(section, ignored);
  std::string text = fmt::format(
      "# Keys of an experiment\n\nThese are all keys of a config of `lacuna run` ([manual](experiments.md)). "
      "`lacuna run --keys` prints this page.\nA key without a default is needed, except for `epochs` and `steps`, of "
      "which one is.\n\n## [run]\n\n{}",
      table_of(run.keys()));
  for (const std::string& kind : workload_kinds()) {
    ConfigReport report("");
    ConfigSection workload(nothing, "workload", report);
    workload.one_of(kind_key, {kind}, std::nullopt);
    make_workload(kind, workload, 1);
    text += fmt::format("\n## [workload] with kind = \"{}\"\n\n{}", kind, table_of(report.keys()));
  }
  std::size_t common = 0;  // keys that all methods have
  for (const std::string& name : method_names()) {
    ConfigReport report("");
    const toml::table named{{"name", name}};
    ConfigSection method(named, "method", report);
    read_method(method, 1, nullptr);
    const std::vector<KeyInfo> own(report.keys().begin() + static_cast<std::ptrdiff_t>(common), report.keys().end());
    text += common == 0 ? "\n## [[method]]\n\n" : fmt::format("\n## [[method]] with name = \"{}\"\n\n", name);
    text += table_of(own);
    if (common == 0) common = own.size();
  }
  return text;
}

}  // namespace lacuna::cli
