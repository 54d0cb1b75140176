#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "runtime/values/clock.hpp"

namespace lacuna::runtime {

/// Says whether the program no longer wants to wait. The thread that waits asks it, about 20 times a second.
using Interrupted = std::function<bool()>;

/// The end of a wait: a time, or an earlier moment at which the program no longer wants to wait.
class Deadline {
 public:
  Deadline(Clock::time_point at, Interrupted interrupted = {}) : at_(at), interrupted_(std::move(interrupted)) {}

  Clock::time_point at() const { return at_; }
  Clock::duration left() const { return at_ - Clock::now(); }
  bool has_passed() const { return Clock::now() >= at_ || is_interrupted(); }
  bool is_interrupted() const { return interrupted_ && interrupted_(); }
  /// This deadline, or the given time if that is earlier. The program may interrupt it too.
  Deadline not_after(Clock::time_point at) const { return {std::min(at_, at), interrupted_}; }
  /// The time until which a thread may sleep before it asks has_passed().
  Clock::time_point next_look() const { return interrupted_ ? std::min(at_, Clock::now() + between_looks) : at_; }

 private:
  static constexpr std::chrono::milliseconds between_looks{50};

  Clock::time_point at_;
  Interrupted interrupted_;
};

}  // namespace lacuna::runtime
