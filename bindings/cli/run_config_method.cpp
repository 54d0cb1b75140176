#include "bindings/cli/run_config_method.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <limits>
#include <optional>

#include "algorithms/registry.hpp"

namespace lacuna::cli {
namespace {

constexpr std::int64_t most = std::numeric_limits<int>::max();
constexpr double most_factor = 1e6;

/// Those of the keys that are given stand there for nothing.
void refuse(ConfigSection& section, std::initializer_list<const char*> keys, std::string_view why) {
  for (const char* key : keys) {
    if (section.has(key)) section.error(key, fmt::format("'{}' {}", key, why));
  }
}

Skip read_skip(ConfigSection& section) {
  Skip skip;
  skip.steps = static_cast<int>(section.integer({"skip_steps"}, 0, most, 0));
  skip.ratio = section.number({"skip_ratio"}, 0, 1, 0);
  skip.mode = section.choice({"skip_mode"}, {SkipMode::Static, SkipMode::Random, SkipMode::Shuffled});
  skip.scale = section.choice({"skip_scale"}, {SkipScale::ZeroFill, SkipScale::Renormalised, SkipScale::Factor});
  skip.factor = section.number({"skip_factor"}, -most_factor, most_factor, skip.factor);
  skip.feedback = section.flag({"skip_feedback"}, false);
  skip.warm_up = static_cast<std::uint64_t>(section.integer({"skip_warm_up"}, 0, most, 0));
  if (skip.scale == SkipScale::Factor && !section.has("skip_factor")) {
    section.error("skip_scale", "'skip_scale' = \"factor\" needs 'skip_factor'");
  }
  if (skip.scale != SkipScale::Factor) refuse(section, {"skip_factor"}, "belongs to skip_scale = \"factor\"");
  return skip;
}

std::vector<SkipStage> read_schedule(ConfigSection& section) {
  std::vector<SkipStage> schedule;
  for (const auto& [from_run, steps] : section.pairs({"skip_schedule"}, 0, most)) {
    schedule.push_back({static_cast<std::uint64_t>(from_run), static_cast<int>(steps)});
  }
  return schedule;
}

void read_policy(ConfigSection& section, Method& method) {
  method.policy = section.choice({"skip_policy"}, {SkipPolicy::Skip, SkipPolicy::Automatic});
  const bool automatic = method.policy == SkipPolicy::Automatic;
  const std::int64_t small = automatic ? static_cast<std::int64_t>(Skip().small) : 0;
  method.skip.small = static_cast<std::size_t>(section.integer({"skip_small"}, 0, most, small));
  SkipImportance::Options& importance = method.importance;
  importance.every = static_cast<std::uint64_t>(
      section.integer({"importance_every"}, 2, most, static_cast<std::int64_t>(importance.every)));
  importance.threshold = section.number({"importance_threshold"}, 0, 1, importance.threshold);
  if (!automatic) {
    refuse(section, {"importance_every", "importance_threshold"}, "belongs to skip_policy = \"automatic\"");
  }
}

/// Whether an algorithm serves the method on these ranks.
Status served(const Method& method, const Hosts& hosts) {
  SkipState state;
  Call call;
  call.collective = Collective::Allreduce;
  call.count = 1;
  call.reduction = Reduction::Avg;
  call.options.algorithm = method.algorithm;
  call.options.skip = method.skip;
  call.options.skip.schedule = method.schedule;
  call.options.skip.state = &state;
  return select_algorithm(call, hosts).status();
}

}  // namespace

Method read_method(ConfigSection& section, const Hosts& hosts) {
  Method method;
  method.algorithm = section.text({"algorithm"}, "");
  method.label = section.text({"label"}, method.algorithm.empty() ? std::nullopt : std::optional(method.algorithm));
  method.skip = read_skip(section);
  method.schedule = read_schedule(section);
  read_policy(section, method);
  const bool all_known = section.finish();

  if (method.label.find('/') != std::string::npos) section.error("label", "'label' must not hold a '/'");
  if (all_known && !section.has("skip_steps") && !section.has("skip_ratio") && !section.has("skip_schedule")) {
    refuse(section, {"skip_mode", "skip_scale", "skip_feedback", "skip_policy", "skip_warm_up", "skip_small"},
           "changes nothing without 'skip_steps', 'skip_ratio' or 'skip_schedule'");
  }
  if (const Status status = served(method, hosts); !status) section.error("algorithm", status.message());
  return method;
}

}  // namespace lacuna::cli
