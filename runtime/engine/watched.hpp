#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/posted.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// What the watch asks of the process that it serves. The watch's own thread, which must go on beating, calls posted();
/// a second thread of the watch calls the others, which may take as long as they need.
class Watched {
 public:
  virtual ~Watched() = default;
  /// Returns what this rank has posted as this call, or nothing if it has not posted it (yet). Calls that have ended
  /// here count as posted. It must not wait for anything that may take the process long.
  virtual std::optional<Posted> posted(std::uint64_t communicator, std::uint32_t run) = 0;
  /// Takes a verdict on one communicator: it is poisoned with this status, and the others go on. If it is not there
  /// (any more), that is no error. It must not destroy the watch.
  virtual void poison(std::uint64_t communicator, const Status& verdict) = 0;
  /// Takes a verdict on the job: everything is poisoned with this status, and no data move any more. When this returns,
  /// peers may leave. It is called at most once. It must not destroy the watch.
  virtual void fail(const Status& verdict) = 0;
  /// Is called once after fail(). `all_have_stopped`: no rank moves data any more. If it is false, some did not say so
  /// in time.
  virtual void release(bool all_have_stopped) = 0;
  /// Takes what a peer has sent that is leaving and waits until it has been heard.
  virtual void help() = 0;
  /// Returns how many messages this rank has sent to another so far, including those that the transport still holds.
  virtual std::uint64_t sent(Rank peer) = 0;
  /// A call of a communicator does not go on, and rank 0, which would compare what its members have posted, has left:
  /// tell them what this rank has posted as this call, so that whoever has posted something else reports a mismatch.
  virtual void tell_members(std::uint64_t communicator, std::uint32_t run) = 0;
};

/// Is a rank of the job one of these members? None of them: all are.
inline bool is_among(const std::vector<Rank>& members, Rank rank) {
  return members.empty() || std::find(members.begin(), members.end(), rank) != members.end();
}

/// A rank of which a stalled call waits for messages, and how many have come from it so far.
struct Wait {
  Rank peer = 0;
  std::uint64_t received = 0;
};
/// How many such ranks a report names at most.
inline constexpr std::size_t most_waits = 16;

/// A call that does not end, as its rank sees it.
struct Trouble {
  enum class Kind : std::uint8_t {
    Stalled,   ///< no progress for a while: compare what all ranks posted; fail only if they differ or a rank has left
    Mismatch,  ///< a peer's digest differs from ours
    Expired,   ///< the deadline has passed: find out who is late, then fail on all members
    Broken,    ///< a connection that it needs is broken
    Refused,   ///< its rank can't do what its caller asks for: fail on all members, whatever they have posted
  };
  Kind kind = Kind::Stalled;
  std::uint64_t communicator = 0;  ///< which a verdict poisons
  std::uint32_t run = 0;
  std::string text;             ///< collective, step, peer, missing bytes: what goes into the verdict
  std::vector<Rank> members{};  ///< the ranks of the job that make the communicator; none: all
  /// Names a message, if the report is about one and not about a call. Then the only possible reason is that its peer
  /// has left.
  std::string name{};
  Rank peer = -1;
  std::vector<Wait> waits{};            ///< of a stalled call
  std::chrono::milliseconds waited{0};  ///< since the stalled call began, if it is late; else 0
  /// What other ranks have told this one that they posted as the call. It stays here: rank 0 asks all ranks itself.
  std::vector<std::pair<Rank, Posted>> heard{};

  bool may_be_due_to(Rank rank) const { return peer >= 0 ? rank == peer : is_among(members, rank); }
};

}  // namespace lacuna::runtime
