#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/values/clock.hpp"

namespace lacuna::runtime {

/// What a rank did last: a ring of its newest events, which is always on. The executor writes it under its lock.
class FlightRecord {
 public:
  enum class Kind : std::uint8_t { Posted, Started, Sent, Received, Finished, Failed };

  struct Event {
    std::uint64_t ticks = 0;
    std::uint64_t bytes = 0;
    std::uint32_t run = 0;
    std::uint32_t step = 0;
    std::uint32_t part = 0;
    std::uint32_t peer = 0;
    Kind kind = Kind::Posted;
  };

  explicit FlightRecord(const TimeSource& time) : time_(time) {}

  /// Reads the clock. All events that one call or one message causes get the same time, because reading the clock costs
  /// as much as a step.
  void tick() { ticks_ = time_.ticks_now(); }
  /// The time that tick() has read last.
  std::uint64_t ticks() const { return ticks_; }
  void add(Event event) {
    event.ticks = ticks_;
    events_[count_++ % capacity] = event;
  }

  /// The newest events, the oldest of them first. Each has a line, with the ticks since the oldest event that is shown.
  std::string text(std::size_t newest = 32) const;

 private:
  static constexpr std::size_t capacity = 4096;

  std::array<Event, capacity> events_{};
  std::uint64_t count_ = 0;
  std::uint64_t ticks_ = 0;
  const TimeSource time_;
};

}  // namespace lacuna::runtime
