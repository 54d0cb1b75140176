#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "bindings/cli/run/record.hpp"

namespace lacuna::cli {

/// Shows how far a method is. On a terminal it draws a bar again and again; elsewhere it writes a line every few
/// seconds.
class ProgressDisplay {
 public:
  struct Work {
    std::string label;
    std::uint64_t steps = 0;
    std::uint64_t steps_per_epoch = 0;  ///< 0: it has no epochs
    std::string figure;                 ///< the name of what advance() gets
  };

  /// A quiet display shows nothing. All ranks but one have a quiet display.
  explicit ProgressDisplay(bool quiet);

  /// Says that a method begins, or continues at a step.
  void begin(Work work, std::uint64_t step);
  /// Says that a step is done. `figure` is what the workload returned for it.
  void advance(double figure);
  /// Writes a line of its own above the bar.
  void line(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;

  std::string epoch_text() const;
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

/// Returns a text such as "test_accuracy 87.61 %, test_loss 0.3412".
std::string to_text(const Metrics& metrics);

}  // namespace lacuna::cli
