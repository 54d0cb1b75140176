#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "runtime/values/clock.hpp"

namespace lacuna::runtime {

/// When an executor must look at its unfinished runs again: because a deadline passes, because nothing has moved for
/// too long, or because a connection has been broken for too long. Its owner locks.
class Duties {
 public:
  explicit Duties(std::chrono::milliseconds stall) : stall_(stall) {}

  /// A run with this deadline begins.
  void begin_run(Clock::time_point now, Clock::time_point deadline) {
    if (unfinished_++ == 0) quiet_since_ = now;
    expect(std::min({deadline, later(quiet_since_, stall_), broken_}));
  }
  void end_run() {
    if (--unfinished_ == 0) next_ = Clock::time_point::max();
  }
  /// Something has moved. Returns true once in a while: then the deadlines must be looked at although things keep
  /// moving.
  bool note_movement() { return ++movements_ % 1024 == 0; }
  /// Notes a broken connection. If it is still broken at this time, it must be reported.
  void note_broken(Clock::time_point report_at) {
    broken_ = std::min(broken_, report_at);
    if (unfinished_ > 0) expect(broken_);
  }
  /// There is something to do at this time or earlier.
  void expect(Clock::time_point at) { next_ = std::min(next_, at); }

  bool has_runs() const { return unfinished_ > 0; }
  /// Returns the next time at which there may be something to do.
  Clock::time_point next() const { return next_; }
  /// Is it time to look at the runs?
  bool are_due(Clock::time_point now) {
    if (std::exchange(movements_seen_, movements_) != movements_) quiet_since_ = now;
    return now >= next_;
  }

  /// Begins a look at the runs. Returns true if nothing has moved for so long that it must be reported. The caller then
  /// calls expect() for each time that matters next, and end_look() last.
  bool begin_look(Clock::time_point now) {
    const bool stalled = now >= later(quiet_since_, stall_);
    if (stalled) quiet_since_ = now;
    next_ = later(quiet_since_, stall_);
    return stalled;
  }
  void end_look(Clock::time_point now) {
    constexpr std::chrono::milliseconds interval{10};  // there may be many messages to look at
    next_ = unfinished_ > 0 ? std::max(next_, now + interval) : Clock::time_point::max();
  }

 private:
  const std::chrono::milliseconds stall_;
  std::uint32_t unfinished_ = 0;                         // calls and messages of all communicators
  std::uint64_t movements_ = 0, movements_seen_ = 0;     // rounds of progress in which anything happened
  Clock::time_point quiet_since_;                        // since then nothing has moved, or a stall has been reported
  Clock::time_point next_ = Clock::time_point::max();    // before it nothing is due
  Clock::time_point broken_ = Clock::time_point::max();  // from then on somebody is to blame for a broken connection
};

}  // namespace lacuna::runtime
