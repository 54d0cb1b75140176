#include "bindings/cli/run/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "bindings/cli/shared/join.hpp"

namespace lacuna::cli {
namespace {

constexpr std::string_view seed_prefix = "seed-";

using Values = std::vector<std::pair<std::string_view, std::string_view>>;

Values parsed(std::string_view lines) {
  Values values;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::size_t middle = line.find(" = ");
    if (middle != std::string_view::npos) values.emplace_back(line.substr(0, middle), line.substr(middle + 3));
  }
  return values;
}

std::optional<std::string_view> value_of(const Values& values, std::string_view key) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.first == key; });
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::uint64_t steps_of(const RunConfig& config, std::uint64_t steps_per_epoch) {
  return config.steps ? *config.steps : *config.epochs * steps_per_epoch;
}

std::string name_of(const RunConfig& config, const Work& work) {
  const std::string& label = config.methods[work.method].label;
  return config.seeds.size() == 1 ? label : fmt::format("{}, seed {}", label, work.seed);
}

std::vector<Work> work_of(const RunConfig& config, std::uint64_t steps) {
  const std::string ends = config.workload->depends_on_steps() ? fmt::format("run.steps = {}\n", steps) : "";
  std::vector<Work> all;
  for (const std::uint64_t seed : config.seeds) {
    for (std::size_t method = 0; method < config.methods.size(); ++method) {
      all.push_back({.method = method,
                     .seed = seed,
                     .folder = config.output / fmt::format("{}{}", seed_prefix, seed) / config.methods[method].label,
                     .values = fmt::format("{}run.seed = {}\n{}{}", config.workload_values, seed, ends,
                                           config.method_values[method])});
    }
  }
  return all;
}

std::vector<std::filesystem::path> folders_of_work(const std::filesystem::path& output) {
  std::vector<std::filesystem::path> folders;
  std::error_code none;
  for (const auto& seed : std::filesystem::directory_iterator(output, none)) {
    const std::string name = seed.path().filename().string();
    const bool is_number = name.find_first_not_of("0123456789", seed_prefix.size()) == std::string::npos;
    if (!name.starts_with(seed_prefix) || !is_number || !seed.is_directory(none)) continue;
    for (const auto& label : std::filesystem::directory_iterator(seed.path(), none)) {
      if (label.is_directory(none)) folders.push_back(label.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::string difference_of_values(std::string_view before, std::string_view now) {
  const Values old_values = parsed(before), new_values = parsed(now);
  std::vector<std::string> texts;
  for (const auto& [key, value] : old_values) {
    const auto other = value_of(new_values, key);
    if (!other) texts.push_back(fmt::format("{} was {}, is now not there", key, value));
    if (other && *other != value) texts.push_back(fmt::format("{} was {}, is now {}", key, value, *other));
  }
  for (const auto& [key, value] : new_values) {
    if (!value_of(old_values, key)) texts.push_back(fmt::format("{} was not there, is now {}", key, value));
  }
  return joined(texts, "; ");
}

}  // namespace lacuna::cli
