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
#include "runtime/values/clock.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

class Control;
struct Membership;

/// How long the watch waits, and by which clock.
struct WatchTimes {
  std::chrono::milliseconds gather{1000};    ///< how long rank 0 waits for answers before it decides without them
  std::chrono::milliseconds fallback{3000};  ///< how long a rank waits for rank 0's verdict before it makes its own
  std::chrono::milliseconds throttle{1000};  ///< reports of a stalled call are looked at once in this time
  std::chrono::milliseconds stop{700};  ///< how long the others wait for a rank to stop, after a verdict on the job
  TimeSource time{};                    ///< by which it waits; with a virtual clock it looks again and again
};

/// If a call goes on to be late, the log says so once in this time.
inline constexpr std::chrono::minutes between_warnings{10};
/// The longest time for which a rank that leaves waits until its peers have taken what it sent.
inline constexpr std::chrono::milliseconds longest_leave{5000};

/// Notices what collectives cannot notice: a rank that died, stopped or left, calls that differ between ranks, and who
/// is late when a deadline passes. Rank 0 writes to the log for whom a call waits that is late. A verdict names the
/// ranks, and ends what can't go on without them.
///
/// One verdict may end the job, on all ranks that live:
/// - PeerFailed: "rank 2 (host h) died ...", "rank 2 (host h) does not answer rank 0 for 10 s (stopped, or cut off?)",
/// or
///   the rank sent something that is no message of the watch.
///
/// One verdict may end a communicator, on all its members:
/// - Mismatch: "call 17 differs: ranks 0, 1 posted ...; rank 2 posted ...";
/// - TimedOut, with the trouble's text and the ranks that have not posted the call or do not answer;
/// - Transport: "call 17 failed: nothing that was sent from rank 1 (host h) to rank 2 (host i) has arrived for 10 s
/// ...",
///   or a connection broke;
/// - PeerFailed: "rank 3 left the job before call 17";
/// - InvalidArgument: "call 17 was refused: rank 2: ...", if one rank was asked for what it can't do.
///
/// Rank 0 watches all other ranks, gathers what they posted, and decides. The others watch rank 0. Each rank has two
/// sleeping threads; a job of one rank has none until something is reported. After rank 0 has left, a rank in trouble
/// decides for itself, by what the other members of the communicator tell it. A rank that finds that it was suspended
/// blames nobody for that time.
///
/// A rank that leaves says what it called last. At its own end, each rank compares the goodbyes that it has heard: rank
/// 0 those of all ranks that left before it, and the others that of rank 0. If ranks did not agree, and no call has
/// failed because of that, an error in the log names both sides.
///
/// Leaving is safe for the others. If the job has not failed, the watches make the peers of a leaving rank take what it
/// sent, even while their callers are busy elsewhere. They do the same for the members of a poisoned communicator, for
/// a while. After a verdict on the job, no rank leaves before all ranks that answer have stopped.
///
/// Thread rule: any thread may call. Only the destructor and compare_clocks() block. `watched` must outlive the watch.
class Watch {
 public:
  /// Takes the connections of a job that all ranks have joined. The error is Internal if the system has no thread or
  /// descriptor to give.
  static Result<std::unique_ptr<Watch>> start(Membership& membership, Watched& watched, const WatchTimes& times = {});
  /// Ends the thread. Without leave() it ends at once, and the others take this rank for dead. After leave() it first
  /// waits for the goodbyes of others, for 200 ms at most. After a verdict on the job it waits until all have stopped,
  /// for WatchTimes::stop at most. The caller must hold no lock that the functions of Watched take.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Takes the trouble and wakes the watch's thread. It is cheap if a call is reported as stalled again and again.
  void report(Trouble trouble);
  /// Compares this rank's clock with rank 0's, for traces: several times now, and then once with each beat. It blocks
  /// until the first comparisons are done, or for `longest`.
  void compare_clocks(std::chrono::milliseconds longest);
  /// How rank 0's clock relates to the clock of this rank. Nothing if they were not compared.
  std::optional<ClockRelation> clock() const;
  /// Says goodbye: this rank will post no further call. A communicator that is not named here counts as one without any
  /// call. The watch serves on until it is destroyed.
  void leave(std::vector<Reach> reached);

 private:
  explicit Watch(std::unique_ptr<Control> control);
  Status start_thread();

  std::unique_ptr<Control> control_;
  std::mutex mutex_;  // protects thread_
  std::thread thread_;
};

}  // namespace lacuna::runtime
