#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::workloads {

/// How much worse a sparse average is than the best one of as many elements, in units of the dense average: the norm of
/// Topk(mean of what ranks select from) - what came out, over that of the mean of their inputs (Li, Hoefler:
/// Near-optimal sparse allreduce for distributed deep learning, PPoPP 2022, equation 5). Training converges where it is
/// bounded. It costs two dense averages.
class Xi {
 public:
  /// What a rank is about to average, by a call with this method and state.
  void begin(const MethodOptions& method, const MethodState& state, std::span<const float> input);
  /// What came out, and of how many elements it was to be. All ranks call it for the same averages, in the same order.
  Status end(Communicator& ranks, std::span<const float> average, std::size_t entries);
  /// Of all averages since the last call; NaN if there were none.
  double take();

 private:
  struct Begun {
    std::vector<float> accumulated, input;
  };

  std::vector<Begun> begun_;  // the oldest first
  double difference_ = 0, dense_ = 0;
};

}  // namespace lacuna::workloads
