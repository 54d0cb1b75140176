#include "algorithms/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "algorithms/registry/registered.hpp"
#include "algorithms/registry/selection.hpp"
#include "runtime/skip/skip_plan.hpp"

namespace lacuna {

#define LACUNA_ALGORITHM(name) extern const Algorithm name;
#include "algorithms/manifest.def"
#undef LACUNA_ALGORITHM

namespace {

constexpr std::array algorithms = {
#define LACUNA_ALGORITHM(name) &name,
#include "algorithms/manifest.def"
#undef LACUNA_ALGORITHM
};

bool can_skip(Collective collective, std::string_view name) {
  return std::any_of(algorithms.begin(), algorithms.end(), [&](const Algorithm* one) {
    return one->collective == collective && one->name == name && one->skipping;
  });
}

/// The name of the algorithm to take; empty: the collective's first.
std::string_view name_of(const Call& call, const Hosts& hosts, std::string_view instead) {
  if (!call.options.algorithm.empty()) return call.options.algorithm;
  if (!instead.empty() && (!call.options.skip.is_on() || can_skip(call.collective, instead))) return instead;
  const Preference* row = preference(call, hosts);
  return row ? row->algorithm : std::string_view();
}

RegisteredAlgorithms& registered() {
  static RegisteredAlgorithms all;
  return all;
}

/// The algorithm, unless it refuses the call.
Result<const Algorithm*> accept(const Algorithm& algorithm, const Call& call, const Hosts& hosts) {
  if (Status valid = runtime::check_skip(call, algorithm, hosts); !valid) return valid;
  if (Status fits = algorithm.supports ? algorithm.supports(call, hosts) : Status(); !fits) return fits;
  return &algorithm;
}

}  // namespace

std::span<const Algorithm* const> all_algorithms() { return algorithms; }

Status register_algorithm(const Algorithm& algorithm) {
  for (const Algorithm* ours : algorithms) {
    if (ours->collective == algorithm.collective && ours->name == algorithm.name) {
      return {Code::InvalidArgument, fmt::format("the name '{1}' of this {0} algorithm is taken",
                                                 to_string(algorithm.collective), algorithm.name)};
    }
  }
  return registered().add(algorithm);
}

Result<const Algorithm*> select_algorithm(const Call& call, const Hosts& hosts, std::string_view instead) {
  const std::string_view wanted = name_of(call, hosts, instead);
  for (const Algorithm* algorithm : algorithms) {
    if (algorithm->collective != call.collective) continue;
    if (wanted.empty() || algorithm->name == wanted) return accept(*algorithm, call, hosts);
  }
  if (const Algorithm* algorithm = registered().find(call.collective, wanted)) {
    const auto accepted = accept(*algorithm, call, hosts);
    if (!accepted) return accepted;
    for (int steps : runtime::possible_steps(call, *algorithm, hosts)) {
      if (Status fits = registered().verified(*algorithm, hosts, steps); !fits) return fits;
    }
    return accepted;
  }
  std::string known;
  for (const Algorithm* algorithm : algorithms) {
    if (algorithm->collective == call.collective)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", algorithm->name);
  }
  return Status(Code::InvalidArgument, fmt::format("no {} algorithm is called '{}'; there are: {}",
                                                   to_string(call.collective), wanted, known));
}

}  // namespace lacuna
