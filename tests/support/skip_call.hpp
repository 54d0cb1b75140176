#pragma once

#include "algorithms/phases/feedback.hpp"
#include "algorithms/skip/skip.hpp"
#include "runtime/values/call.hpp"
#include "tests/support/state_bytes.hpp"

namespace lacuna::test {

/// The options of skipping of a call, which a test may change. They are made anew when the expression ends.
class SkipIn {
 public:
  explicit SkipIn(Options& options) : options_(options) {
    if (options.method) skip_ = options.method.as<Skip>();
  }
  SkipIn(const SkipIn&) = delete;
  SkipIn& operator=(const SkipIn&) = delete;
  ~SkipIn() { options_.method = lacuna::skip(skip_); }

  Skip* operator->() { return &skip_; }
  Skip& operator*() { return skip_; }

 private:
  Options& options_;
  Skip skip_;
};

inline SkipIn skip_in(Call& call) { return SkipIn(call.options); }
inline SkipIn skip_in(Options& options) { return SkipIn(options); }

/// The value of the measure `steps` in a report.
inline int steps_of(const Report& report) { return static_cast<int>(report.measures.value(skip_measure::steps)); }

/// The residual of a state. Nothing if it has none.
inline std::vector<std::byte> residual_of(const MethodState& state) { return bytes_of(state, residual_array); }

}  // namespace lacuna::test
