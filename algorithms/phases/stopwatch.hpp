#pragma once

#include <chrono>

#include "runtime/graph/kernel.hpp"

namespace lacuna {

/// Adds the time from its construction to its destruction to a measure of the call.
class Stopwatch {
 public:
  Stopwatch(const KernelCall& call, const Measure& measure) : measures_(call.measures), measure_(measure) {}
  ~Stopwatch() {
    measures_.tell(measure_, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  MeasureValues& measures_;
  const Measure& measure_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace lacuna
