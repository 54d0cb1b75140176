#pragma once

#include <cstdint>

namespace lacuna {

/// The source of a lossy algorithm's random choices: a plain value that the caller owns, under a key of the caller's
/// (a tensor's number, say). Each random call advances `draw` by one when it is posted. All ranks hold equal samplers,
/// so that no message is needed to agree; save and restore the three numbers and the choices repeat. A call that draws
/// nothing, one of mode static say, does not look at it: there it need not be equal.
struct Sampler {
  std::uint64_t seed = 0;
  std::uint64_t key = 0;
  std::uint64_t draw = 0;

  friend bool operator==(const Sampler&, const Sampler&) = default;
};

}  // namespace lacuna
