#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/values/call.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// What the watch asks of the process that it serves, from its own thread.
class Watched {
 public:
  virtual ~Watched() = default;
  /// What this rank posted as call `run` of a communicator: its digest and its text, such as
  /// "allreduce ring f32 sum count 1000". Nothing if it has not posted it (yet).
  struct Posted {
    std::uint64_t digest = 0;
    std::string text;
  };
  virtual std::optional<Posted> posted(std::uint64_t communicator, std::uint32_t run) = 0;
  /// The verdict: poison everything with this status. Called at most once.
  virtual void fail(const Status& verdict) = 0;
};

/// A call that does not end, as its rank sees it.
struct Trouble {
  enum class Kind : std::uint8_t {
    Stalled,   ///< no progress for a while: compare what all ranks posted; fail only if they differ or a rank has left
    Mismatch,  ///< a peer's digest differs from ours
    Expired,   ///< the deadline has passed: find out who is late, then fail on all ranks
  };
  Kind kind = Kind::Stalled;
  std::uint64_t communicator = 0;
  std::uint32_t run = 0;
  std::string text;  ///< collective, step, peer, missing bytes: what goes into the verdict
};

}  // namespace lacuna::runtime
