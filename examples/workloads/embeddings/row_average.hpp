#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bindings/workload/workload.hpp"

namespace lacuna::workloads {

/// Averages the gradient of a table of which each rank has changed a few rows. Only these rows are handed over, as a
/// list, and the average is a list of rows. All ranks make equal objects and the same calls.
class RowAverage {
 public:
  /// The average has at most `room` rows of `width` numbers.
  RowAverage(const MethodChoice& method, std::size_t rows, std::size_t width, std::size_t room);

  /// Returns Ok, or why these ranks cannot average in this way.
  Status check(Communicator& ranks) const;
  /// Takes rows of the gradient and begins their average. Rows may come several times, then they add up. They must stay
  /// until take() has ended.
  Status give(Communicator& ranks, std::span<const std::uint32_t> rows, std::span<const float> gradient);
  /// Waits for the average.
  Status take();
  /// The rows of the average, which ascend, and their numbers.
  std::span<const std::uint32_t> rows() const { return std::span(rows_).first(count_); }
  std::span<const float> average() const { return std::span(average_).first(count_ * width_); }

 private:
  Options options() const;

  MethodChoice method_;
  std::size_t elements_, width_, count_ = 0;
  std::vector<std::uint32_t> rows_;
  std::vector<float> average_;
  CallRequest request_{};
};

}  // namespace lacuna::workloads
