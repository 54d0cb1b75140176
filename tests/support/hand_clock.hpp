#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/values/clock.hpp"

namespace lacuna::test {

/// A clock that the test moves. It begins decades after the real one. So code that mixes the two clocks finds that all
/// deadlines have passed, or that none ever passes.
class HandClock final : public runtime::VirtualClock {
 public:
  using Clock = runtime::Clock;

  /// Every reading moves the clock by `per_look`.
  explicit HandClock(Clock::duration per_look = {}) : per_look_(per_look.count()) {}

  Clock::time_point now() const override {
    ++looks_;
    return Clock::time_point(Clock::duration(time_ += per_look_));
  }
  void move(Clock::duration by) { time_ += by.count(); }
  /// How often it was read.
  std::uint64_t looks() const { return looks_; }

 private:
  const Clock::rep per_look_;
  mutable std::atomic<std::uint64_t> looks_{0};
  mutable std::atomic<Clock::rep> time_ = Clock::duration(std::chrono::hours(500'000)).count();
};

}  // namespace lacuna::test
