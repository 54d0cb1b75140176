#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::workloads {

/// How much worse a sparse average is than the best one of as many elements, in units of the dense average: the norm of
/// Topk(mean of what ranks select from) - what came out, over that of the mean of their inputs (Li, Hoefler:
/// Near-optimal sparse allreduce for distributed deep learning, PPoPP 2022, equation 5). Training converges where it is
/// bounded. Of the tensors of one step; what a step has left is reduced densely when it is asked for.
class Xi {
 public:
  /// What a rank is about to average as tensor `number`, by a call with this method and state.
  void begin(std::size_t number, const MethodOptions& method, const MethodState& state, std::span<const float> input);
  /// What came out, and of how many elements it was to be.
  void end(std::size_t number, std::span<const float> average, std::size_t entries);
  /// Of the step that was last seen; NaN if there was none. Called by all ranks.
  Result<double> measure(Communicator& ranks) const;

 private:
  struct Tensor {
    std::vector<float> accumulated, input, average;
    std::size_t entries = 0;
  };

  std::vector<Tensor> tensors_;
};

}  // namespace lacuna::workloads
