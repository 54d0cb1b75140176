#pragma once

#include <cstdint>

namespace lacuna {

/// The source of the random choices of a method: a plain value that the caller owns. Its key is a number of the
/// caller's, for instance that of a tensor. Each random call advances `draw` by one when it is posted. All ranks must
/// hold equal samplers, so that they make equal draws without a message. If the three numbers are saved and restored,
/// the draws repeat. A call that draws nothing, such as one of mode static, does not look at the sampler, which may
/// then differ.
struct Sampler {
  std::uint64_t seed = 0;
  std::uint64_t key = 0;
  std::uint64_t draw = 0;

  friend bool operator==(const Sampler&, const Sampler&) = default;
};

}  // namespace lacuna
