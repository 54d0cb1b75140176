#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/job/watch.hpp"

namespace lacuna::runtime {

/// Carries out what the watch of a process has decided, on a thread of its own. This may take long, because a lock may
/// be held and because the process computes while it makes progress. The watch's own thread waits for none of that, and
/// goes on to show that the process is alive.
///
/// Thread rule: any thread may call. Only the destructor blocks. `watched` must outlive the attendant.
class Attendant {
 public:
  explicit Attendant(Watched& watched) : watched_(watched) {}
  /// Waits until the thread has done all that it was given, and ends it.
  ~Attendant();
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  /// Starts the thread if it does not run yet. Before that nothing is done. Throws std::system_error if the system has
  /// no thread to give.
  void start();

  // Each of these calls the function of Watched with the same name. They run one after another, in the order of the
  // calls.
  void poison(std::uint64_t communicator, Status verdict);
  /// Afterwards it calls `done`, on the attendant's thread.
  void fail(Status verdict, std::function<void()> done);
  void release(bool all_have_stopped);
  /// Gets the number of messages sent to a peer, calls Watched::help(), and calls `done` with the number, on the
  /// attendant's thread.
  void count_sent(Rank peer, std::function<void(std::uint64_t)> done);
  void tell_members(std::uint64_t communicator, std::uint32_t run);
  /// Calls Watched::help() once, after everything else that was given. If this is called again before help() has begun,
  /// it changes nothing.
  void help();

 private:
  void give(std::function<void()> errand);
  void serve();

  Watched& watched_;
  std::mutex mutex_;  // protects all members below, except the thread
  std::condition_variable changed_;
  std::deque<std::function<void()>> errands_;
  bool help_is_wanted_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace lacuna::runtime
