#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/observe/clock_comparison.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

class Control;
struct Membership;

/// What the watch asks of the process that it serves. The watch's own thread, which must go on beating, calls posted();
/// a second thread of the watch calls the others, which may take as long as they need.
class Watched {
 public:
  virtual ~Watched() = default;
  /// What this rank posted as call `run` of a communicator: its digest and its text, such as
  /// "allreduce ring f32 sum count 1000". Digest 0: it was posted, but what it asked for is forgotten.
  struct Posted {
    std::uint64_t digest = 0;
    std::string text;
    std::uint64_t history = 0;     ///< stands for this call and all before it; 0: forgotten
    std::vector<Posted> before{};  ///< the calls before it that are remembered, the youngest first, without theirs
  };
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
  std::vector<std::pair<Rank, Watched::Posted>> heard{};

  bool may_be_due_to(Rank rank) const { return peer >= 0 ? rank == peer : is_among(members, rank); }
};

/// How far a rank came on one of its communicators: the number that its next call would have had, and its last calls.
struct Reach {
  std::uint64_t communicator = 0;
  std::uint32_t next_run = 0;
  bool failed = false;     ///< the communicator: then the ranks need not have come equally far
  Watched::Posted last{};  ///< call next_run - 1, if there was one
};

/// Calls that a rank tells of, one for which it is asked or its last one included, and the communicators of which it
/// does so when it leaves; of the others the last call's history only.
inline constexpr std::size_t calls_told = 8, communicators_told = 64;
/// Communicators that a goodbye names, the youngest.
inline constexpr std::size_t most_reaches = 4096;

struct WatchTimes {
  std::chrono::milliseconds gather{1000};    ///< how long rank 0 waits for answers before it decides without them
  std::chrono::milliseconds fallback{3000};  ///< how long a rank waits for rank 0's verdict before it makes its own
  std::chrono::milliseconds throttle{1000};  ///< a call reported as stalled is looked at once in this time
  std::chrono::milliseconds stop{700};       ///< after a verdict on the job, how long a late rank is waited for
};

/// Longest time that a rank waits to be heard by its peers when it leaves.
inline constexpr std::chrono::milliseconds longest_leave{5000};

/// Notices what collectives cannot: a rank that died, stopped or left, calls that differ between ranks, and who is late
/// when a deadline passes. A verdict names the ranks concerned, and ends what can't go on without them:
/// - the job, on all ranks that live, once: PeerFailed, "rank 2 (host h) died ...", "rank 2 (host h) does not answer
///   rank 0 for 10 s (stopped, or cut off?)", or sent what is no message of the watch;
/// - one communicator, on all its members, once: Mismatch, "call 17 differs: ranks 0, 1 posted ...; rank 2 posted ...";
///   TimedOut, with the trouble's text and who has not posted the call or does not answer; Transport, "call 17 failed:
///   nothing that was sent from rank 1 (host h) to rank 2 (host i) has arrived for 10 s ...", or where a connection
///   broke; PeerFailed, "rank 3 left the job before call 17"; InvalidArgument, "call 17 was refused: rank 2: ...",
///   where one rank was asked for what it can't do.
///
/// Rank 0 is the hub: it notices the others, gathers and decides; the others notice rank 0. Two sleeping threads
/// per rank; a job of one rank has none until something is reported. After rank 0 has left, a rank in trouble decides
/// alone, for itself, by what the other members of the communicator tell it. A rank that finds that it was itself
/// suspended blames nobody for the time.
///
/// A rank that leaves says what it called last. Who has heard the goodbyes of others by its own end, rank 0 those of
/// all that leave before it and the others that of rank 0, compares: where ranks did not agree and no call has failed
/// for it, an error on the log names both sides.
///
/// Leaving is safe for the others. Without a failure of the job, the peers of a leaving rank are made to take what it
/// sent, also while their callers are busy elsewhere; likewise the members of a poisoned communicator for a while.
/// After a verdict on the job, no rank leaves before all that answer have stopped.
///
/// Thread rule: any thread may call; nothing blocks but the destructor. `watched` must outlive the watch.
class Watch {
 public:
  /// Takes over the connections of a job that has come together. Internal if the system has no thread or descriptor.
  static Result<std::unique_ptr<Watch>> start(Membership& membership, Watched& watched, const WatchTimes& times = {});
  /// Ends the thread: at once without leave(), so that the others take this rank for dead; else after the goodbyes have
  /// been heard, 200 ms at most; after a verdict on the job once all have stopped, WatchTimes::stop at most.
  /// Hold no lock that the functions of Watched take.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Only notes the trouble and wakes the watch's thread; cheap for a call that is reported as stalled repeatedly.
  void report(Trouble trouble);
  /// Compares this rank's clock with rank 0's, for traces: some times now and once with each beat. Blocks until the
  /// first comparisons are there, or for `longest`.
  void compare_clocks(std::chrono::milliseconds longest);
  /// From this rank's clock to rank 0's; nothing if they were not compared.
  std::optional<ClockRelation> clock() const;
  /// Says goodbye: this rank will post no further call. A communicator that is not named here counts as one without any
  /// call. The watch serves on until it is destroyed.
  void leave(std::vector<Reach> reached);

 private:
  explicit Watch(std::unique_ptr<Control> control);
  Status start_thread();

  std::unique_ptr<Control> control_;
  std::mutex mutex_;  // of thread_
  std::thread thread_;
};

}  // namespace lacuna::runtime
