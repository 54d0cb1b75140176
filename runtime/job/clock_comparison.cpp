#include "runtime/job/clock_comparison.hpp"

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
  const Sample& late = late_ ? *late_ : *early_;
  ClockRelation relation{.at = early_->at, .error = std::max(early_->error, late.error)};
  if (may_be_equal(*early_) && may_be_equal(late)) return relation;
  relation.offset = early_->offset;
  if (late_) {
    relation.drift =
        ClockRelation::Nanoseconds(late.offset - early_->offset) / ClockRelation::Nanoseconds(late.at - early_->at);
  }
  return relation;
}

}  // namespace lacuna::runtime
