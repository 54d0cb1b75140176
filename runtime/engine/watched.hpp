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
  /// Nothing if this rank has not posted the call (yet); calls that have ended here count as posted. Must not wait for
  /// anything that the process may take long over.
  virtual std::optional<Posted> posted(std::uint64_t communicator, std::uint32_t run) = 0;
  /// A verdict on one communicator: poison it with this status; the others go on. One that is not there (any more) is
  /// no error. Must not destroy the watch.
  virtual void poison(std::uint64_t communicator, const Status& verdict) = 0;
  /// A verdict on the job: poison everything with this status, and move no data any more; when this returns, peers may
  /// leave. Called at most once; must not destroy the watch.
  virtual void fail(const Status& verdict) = 0;
  /// Called once after fail(). `all_have_stopped`: no rank moves data any more; else some did not say so in time.
  virtual void release(bool all_have_stopped) = 0;
  /// A peer is leaving and waits until it has been heard: take what it sent.
  virtual void help() = 0;
  /// How many messages this rank has sent to another so far, those included that the transport still holds.
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
/// Those that a report names.
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
  /// What it is about, where that is a message and no call: then only its peer can be the reason, by having left.
  std::string name{};
  Rank peer = -1;
  std::vector<Wait> waits{};  ///< of a stalled call
  /// What other ranks have told this one that they posted as the call. It stays here: rank 0 asks all ranks itself.
  std::vector<std::pair<Rank, Posted>> heard{};

  bool may_be_due_to(Rank rank) const { return peer >= 0 ? rank == peer : is_among(members, rank); }
};

}  // namespace lacuna::runtime
