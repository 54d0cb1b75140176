#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/job/watch.hpp"

namespace lacuna::runtime {

/// Carries out on the process what its watch has decided, on a thread of its own. The process may take long over it:
/// its lock may be held, and it computes while it helps. The watch's own thread waits for none of that and goes on
/// beating.
///
/// Thread rule: any thread may call; nothing blocks but the destructor. `watched` must outlive the attendant.
class Attendant {
 public:
  explicit Attendant(Watched& watched) : watched_(watched) {}
  /// Ends the thread once it has done all that it was given.
  ~Attendant();
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  /// Starts the thread if it does not run yet. Until then nothing is done. Throws std::system_error if the system has
  /// no thread.
  void start();

  /// These call the function of Watched of the same name, one after another in the order in which they were given.
  void poison(std::uint64_t communicator, Status verdict);
  /// `done` is called after it, on the attendant's thread.
  void fail(Status verdict, std::function<void()> done);
  void release(bool all_have_stopped);
  /// Counts what was sent to a peer, helps, and calls `done` with the number, on the attendant's thread.
  void count_sent(Rank peer, std::function<void(std::uint64_t)> done);
  void tell_members(std::uint64_t communicator, std::uint32_t run);
  /// Calls Watched::help() once, after all else that was given. Asking again before it has begun changes nothing.
  void help();

 private:
  void give(std::function<void()> errand);
  void serve();

  Watched& watched_;
  std::mutex mutex_;  // of all below but the thread
  std::condition_variable changed_;
  std::deque<std::function<void()>> errands_;
  bool help_is_wanted_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace lacuna::runtime
