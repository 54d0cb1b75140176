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

#include "runtime/engine/watched.hpp"
#include "runtime/observe/clock_comparison.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

class Control;
struct Membership;

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
