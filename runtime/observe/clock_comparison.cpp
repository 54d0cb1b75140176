#include "runtime/observe/clock_comparison.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::chrono::seconds early_time{1};
constexpr std::int64_t most_drift = 20'000;  // clocks drift by less than one part in so many

}  // namespace

void ClockComparison::add(Clock::time_point asked, Clock::time_point theirs, Clock::time_point answered) {
  const Clock::duration error = (answered - asked) / 2;
  const Sample sample{.at = asked + error, .offset = theirs - (asked + error), .error = error};
  if (!early_) first_ = sample.at;
  if (sample.at - first_ <= early_time) {
    if (!early_ || sample.error <= early_->error) early_ = sample;
  } else if (!late_ || sample.error <= late_->error + (sample.at - late_->at) / most_drift) {
    late_ = sample;
  }
}

std::optional<ClockRelation> ClockComparison::relation() const {
  if (!early_) return std::nullopt;
  if (!late_) {
    return ClockRelation{.at = early_->at,
                         .offset = may_be_equal(*early_) ? Clock::duration(0) : early_->offset,
                         .error = early_->error};
  }
  // A late sample says nothing if its error is larger than what the clocks can have drifted apart since the early one.
  const Clock::duration drifted = early_->error + (late_->at - early_->at) / most_drift;
  const bool is_told = late_->error < drifted;
  ClockRelation relation{.at = early_->at, .error = is_told ? std::max(early_->error, late_->error) : drifted};
  if (may_be_equal(*early_) && may_be_equal(*late_)) return relation;
  relation.offset = early_->offset;
  if (is_told) {
    relation.drift =
        ClockRelation::Nanoseconds(late_->offset - early_->offset) / ClockRelation::Nanoseconds(late_->at - early_->at);
  }
  return relation;
}

}  // namespace lacuna::runtime
