#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bindings/cli/replay/recording.hpp"
#include "bindings/cli/replay/replay.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {

/// What a method did in each step. It is equal on all ranks.
struct ReplaySeries {
  std::vector<double> bytes;          ///< payload that a rank sent, the mean over the ranks
  std::vector<double> dense_bytes;    ///< payload that the dense call would have sent
  std::vector<double> seconds;        ///< from the start of the first call to the end of the last, on the slowest rank
  std::vector<double> error;          ///< difference of the results from the exact sums: relative, L2, over all ranks
  std::vector<double> running_error;  ///< this error for the sum of all steps so far
  std::vector<double> residual;       ///< the L2 norm of the residuals of all ranks
};

/// The sums of the recorded gradients over the ranks, in f64.
class ExactSums {
 public:
  explicit ExactSums(const std::vector<StateItem>& tensors);
  /// Adds the sums of one more step.
  Status add(Communicator& communicator, const std::vector<StateItem>& tensors);

  const std::vector<std::vector<double>>& now() const { return now_; }
  double squares_now() const { return squares_now_; }
  /// Returns the sum of squares of the sum over the steps.
  double squares_so_far() const { return squares_so_far_; }

 private:
  std::vector<std::vector<double>> now_, so_far_;  // by tensor
  double squares_now_ = 0, squares_so_far_ = 0;
};

/// One method at work on a recording, with a state for each tensor. All ranks make the same calls.
class ReplayedMethod {
 public:
  /// The recording must outlive it.
  ReplayedMethod(ReplayChoice choice, const ReplayOptions& options, const Recording& recording);

  /// Returns Ok, or why these ranks cannot reduce in this way. Finds the names of the algorithms that serve.
  Status check(const Communicator& communicator);
  /// Reduces what the recording has read last.
  Status step(Communicator& communicator, const ExactSums& exact);

  const std::string& label() const { return choice_.label; }
  /// Returns the algorithm that serves each tensor of the recording.
  const std::vector<std::string>& algorithms() const { return algorithms_; }
  const ReplaySeries& series() const { return series_; }

 private:
  /// What a step adds up to, on this rank or on all ranks.
  struct Sums {
    double sent = 0, dense = 0, squares = 0, running_squares = 0, residual_squares = 0;
  };

  Call call_of(std::size_t tensor);
  Status reduce(Communicator& communicator, Sums& sums);
  void compare(const ExactSums& exact, Sums& sums);

  ReplayChoice choice_;
  bool has_common_algorithm_;  // that of --algorithm, which all methods have that name none
  const Recording& recording_;
  std::vector<std::string> algorithms_;
  std::vector<MethodState> states_;  // by tensor, like the members below
  std::vector<std::vector<std::byte>> results_;
  std::vector<std::vector<double>> behind_;  // how much all steps so far have added too much
  ReplaySeries series_;
};

}  // namespace lacuna::cli
