#pragma once

#include <chrono>
#include <optional>

#include "runtime/values/clock.hpp"

namespace lacuna::runtime {

/// How another rank's Clock relates to the own one: a straight line, since clocks drift.
struct ClockRelation {
  using Nanoseconds = std::chrono::duration<double, std::nano>;

  Clock::time_point at;   ///< on the own clock
  Nanoseconds offset{0};  ///< what must be added to the own clock then
  double drift = 0;       ///< by how much the offset grows per unit of time
  Nanoseconds error{0};   ///< how far the offset may be off

  /// The other clock's nanoseconds since its epoch, for those of the own one.
  double theirs(double own) const {
    return own + offset.count() + drift * (own - Nanoseconds(at.time_since_epoch()).count());
  }
};

/// Estimates the relation from questions and answers (Cristian, Probabilistic clock synchronization, 1989): the other
/// clock was read at some time between the question and the receipt of its answer, so half of the time between them
/// bounds the error, whatever the network does. Where two clocks may be the same one, as those of one host are, they
/// are taken for it.
class ClockComparison {
 public:
  void add(Clock::time_point asked, Clock::time_point theirs, Clock::time_point answered);
  /// Nothing before the first answer.
  std::optional<ClockRelation> relation() const;

 private:
  struct Sample {
    Clock::time_point at;
    Clock::duration offset{0};
    Clock::duration error{0};
  };

  static bool may_be_equal(const Sample& sample) { return std::chrono::abs(sample.offset) <= sample.error; }

  std::optional<Sample> early_;  // the best of the first second
  std::optional<Sample> late_;   // the best of the last while
  Clock::time_point first_;
};

}  // namespace lacuna::runtime
