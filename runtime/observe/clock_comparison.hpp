#pragma once

#include <chrono>
#include <optional>

#include "runtime/values/clock.hpp"

namespace lacuna::runtime {

/// How the Clock of another rank relates to the own one. The relation is a straight line, because clocks drift.
struct ClockRelation {
  using Nanoseconds = std::chrono::duration<double, std::nano>;

  Clock::time_point at;   ///< the time on the own clock at which `offset` holds
  Nanoseconds offset{0};  ///< what must be added to the own clock at the time `at`
  double drift = 0;       ///< by how much the offset grows per unit of time
  Nanoseconds error{0};   ///< by how much the offset may be wrong

  /// The time on the other clock when the own one shows `own`. Both are nanoseconds since the clock's epoch.
  double theirs(double own) const {
    return own + offset.count() + drift * (own - Nanoseconds(at.time_since_epoch()).count());
  }
};

/// Estimates the relation from questions and answers (Cristian, Probabilistic clock synchronization, 1989). The other
/// clock was read at some time between the question and the receipt of its answer. So half of the time between them
/// bounds the error, whatever the network does. If two clocks may be the same one, as on one host, they count as the
/// same. Thread rule: one thread at a time.
class ClockComparison {
 public:
  /// Adds a question and its answer: `theirs` is the time on the other clock, the other two are on the own one.
  void add(Clock::time_point asked, Clock::time_point theirs, Clock::time_point answered);
  /// The relation. Nothing before the first answer.
  std::optional<ClockRelation> relation() const;

 private:
  struct Sample {
    Clock::time_point at;
    Clock::duration offset{0};
    Clock::duration error{0};
  };

  static bool may_be_equal(const Sample& sample) { return std::chrono::abs(sample.offset) <= sample.error; }

  std::optional<Sample> early_;  // the most certain sample of the first second
  std::optional<Sample> late_;   // the most certain sample since then; older ones count as less certain
  Clock::time_point first_;
};

}  // namespace lacuna::runtime
