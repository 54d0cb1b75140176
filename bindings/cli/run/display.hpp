#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "bindings/cli/run/record.hpp"

namespace lacuna::cli {

/// Shows how a method goes on: a bar that is drawn again and again on a terminal, a line every few seconds elsewhere.
class ProgressDisplay {
 public:
  struct Work {
    std::string label;
    std::uint64_t steps = 0;
    std::uint64_t steps_per_epoch = 1;
  };

  /// A quiet display shows nothing, as on all ranks but one.
  explicit ProgressDisplay(bool quiet);

  /// A method begins, or goes on at a step.
  void begin(Work work, std::uint64_t step);
  /// A step is done. `figure` is what the workload returned for it.
  void advance(double figure);
  /// A line of its own above the bar.
  void line(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;

  void show();

  bool quiet_;
  bool terminal_;
  Work work_;
  std::uint64_t step_ = 0;
  std::uint64_t first_step_ = 0;
  double figure_ = 0;  // smoothed
  Clock::time_point begin_;
  Clock::time_point last_shown_;
};

/// "test_accuracy 87.61 %, test_loss 0.3412"
std::string to_text(const Metrics& metrics);

/// The table at the end: a line per finished method, compared with the first dense one.
std::string table_of(const RunRecord& record);

/// What each method would take at some link rates, from what it computed and from the bytes that it sent.
std::string prediction_of(const RunRecord& record);

}  // namespace lacuna::cli
