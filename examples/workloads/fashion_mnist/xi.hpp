#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::workloads {

/// Measures how much worse a sparse average is than the best one of as many elements, in units of the dense average. xi
/// is the norm of Topk(mean of what ranks select from) - result, divided by the norm of the mean of the ranks' inputs
/// (Li, Hoefler: Near-optimal sparse allreduce for distributed deep learning, PPoPP 2022, equation 5). Training
/// converges where xi is bounded. It holds the tensors of one step, and reduces densely what is needed when it is
/// asked.
class Xi {
 public:
  /// Takes what a rank is about to average as tensor `number`, by a call with this method and state.
  void begin(std::size_t number, const MethodOptions& method, const MethodState& state, std::span<const float> input);
  /// Takes the result, and how many elements it was to have.
  void end(std::size_t number, std::span<const float> average, std::size_t entries);
  /// Returns xi of the last step; NaN if there was none. All ranks call it.
  Result<double> measure(Communicator& ranks) const;

 private:
  struct Tensor {
    std::vector<float> accumulated, input, average;
    std::size_t entries = 0;
  };

  std::vector<Tensor> tensors_;
};

}  // namespace lacuna::workloads
