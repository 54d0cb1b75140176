#include "algorithms/registry.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "algorithms/registered.hpp"

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

// Up to this size latency counts: fewer messages win over fewer bytes.
constexpr std::size_t latency_bound_bytes = 32 * 1024;

std::string_view preferred(const Call& call) {
  const bool small = call.count * size_of(call.dtype) <= latency_bound_bytes;
  return call.collective == Collective::Allreduce && small ? "recursive_doubling" : "";
}

RegisteredAlgorithms& registered() {
  static RegisteredAlgorithms all;
  return all;
}

/// The algorithm, unless it refuses the call.
Result<const Algorithm*> accept(const Algorithm& algorithm, const Call& call, Rank size) {
  if (algorithm.supports) {
    if (Status refused = algorithm.supports(call, size); !refused) return refused;
  } else if (call.options.skip_steps != 0) {
    return Status(Code::InvalidArgument,
                  fmt::format("{} {} skips no steps: skip_steps is {}, must be 0", to_string(call.collective),
                              algorithm.name, call.options.skip_steps));
  }
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

Result<const Algorithm*> select_algorithm(const Call& call, Rank size) {
  const std::string_view wanted = call.options.algorithm.empty() ? preferred(call) : call.options.algorithm;
  for (const Algorithm* algorithm : algorithms) {
    if (algorithm->collective != call.collective) continue;
    if (wanted.empty() || algorithm->name == wanted) return accept(*algorithm, call, size);
  }
  if (const Algorithm* algorithm = registered().find(call.collective, wanted)) {
    if (Status fits = registered().verified(*algorithm, size, call.options.skip_steps); !fits) return fits;
    return accept(*algorithm, call, size);
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
