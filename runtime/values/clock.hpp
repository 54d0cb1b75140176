#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace lacuna::runtime {

using Clock = std::chrono::steady_clock;

/// Three decades. Every longer wait counts as this one, because the times of a clock wrap around.
inline constexpr std::chrono::milliseconds never = std::chrono::seconds(1'000'000'000);

/// `time` plus `wait`.
template <class Duration>
Clock::time_point later(Clock::time_point time, Duration wait) {
  return time + std::min<std::common_type_t<Duration, std::chrono::milliseconds>>(wait, never);
}

/// Clock::now(), but some milliseconds late. It costs a fifth as much.
inline Clock::time_point coarse_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return Clock::time_point(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

/// How late coarse_now() may be.
inline std::chrono::nanoseconds coarse_lag() {
  timespec resolution{};
  ::clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  return std::chrono::seconds(resolution.tv_sec) + std::chrono::nanoseconds(resolution.tv_nsec);
}

/// The time of the cheapest clock that there is, in ticks, which have no fixed length. It costs a third of
/// Clock::now().
inline std::uint64_t ticks_now() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();  // <x86intrin.h> would declare thousands of functions beside it
#else
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
#endif
}

/// The ticks from `begin` to `end`; 0 if `end` is earlier, as the counters of two processors may differ.
inline std::uint64_t ticks_between(std::uint64_t begin, std::uint64_t end) { return end > begin ? end - begin : 0; }

/// A clock of a simulation or a test, which shows another time than the real one.
class VirtualClock {
 public:
  virtual ~VirtualClock() = default;
  /// The time never goes back. Thread rule: any thread.
  virtual Clock::time_point now() const = 0;
};

/// Tells the time: by the real clocks, or by a virtual clock in the place of all of them.
class TimeSource {
 public:
  TimeSource() = default;
  /// `clock` must outlive this object and its copies. Its coarse time is not late, and a tick is a tick of Clock.
  explicit TimeSource(const VirtualClock& clock) : virtual_(&clock) {}

  bool is_real() const { return virtual_ == nullptr; }
  Clock::time_point now() const { return is_real() ? Clock::now() : virtual_->now(); }
  Clock::time_point coarse_now() const { return is_real() ? runtime::coarse_now() : virtual_->now(); }
  std::uint64_t ticks_now() const {
    return is_real() ? runtime::ticks_now() : static_cast<std::uint64_t>(virtual_->now().time_since_epoch().count());
  }

 private:
  const VirtualClock* virtual_ = nullptr;
};

/// Turns ticks into times of Clock. It reads both clocks when it is made, and again when it is asked.
class TickScale {
 public:
  /// What was measured of the two clocks: the time at one tick, and the length of a tick.
  struct Line {
    std::uint64_t ticks = 0;
    double nanoseconds = 0;  ///< the time of Clock at `ticks`, since Clock's epoch
    double slope = 1;        ///< nanoseconds per tick

    double nanoseconds_at(std::uint64_t at) const {
      return nanoseconds + slope * static_cast<double>(static_cast<std::int64_t>(at - ticks));
    }
    double seconds(std::uint64_t length) const { return 1e-9 * slope * static_cast<double>(length); }
  };

  explicit TickScale(const TimeSource& time) : time_(time) {}

  Line line() const {
    const std::uint64_t ticks = ticks_between(ticks_, time_.ticks_now());
    const double nanoseconds = read() - nanoseconds_;
    return {
        .ticks = ticks_, .nanoseconds = nanoseconds_, .slope = ticks ? nanoseconds / static_cast<double>(ticks) : 1};
  }

 private:
  double read() const { return std::chrono::duration<double, std::nano>(time_.now().time_since_epoch()).count(); }

  const TimeSource time_;
  std::uint64_t ticks_ = time_.ticks_now();
  double nanoseconds_ = read();
};

}  // namespace lacuna::runtime
