#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bindings/cli/workload.hpp"

namespace lacuna::workloads {

/// A layer, or this rank's part of one, whose gradient is averaged: its weights, then its biases.
struct AveragedLayer {
  std::size_t number = 0;  ///< in the whole network
  std::size_t weights = 0;
  std::size_t parameters = 0;  ///< weights and biases
};

/// The averaging of a network's gradients as a method wants it, and what that keeps of each layer from step to
/// step. All ranks that average together make equal objects and the same
/// calls.
class Averages {
 public:
  Averages(const Task& task, const std::vector<AveragedLayer>& layers);

  /// Ok, or why these ranks cannot average so.
  Status check(Communicator& ranks);
  /// Starts to average a layer's gradient, in place; layers by their place in the list.
  Result<Request> start(Communicator& ranks, std::size_t layer, std::span<float> gradient);
  /// The momentum that is left to the trainer: none where the method's own is in what it averages.
  float momentum(double of_trainer) const;

  /// For Workload::state() and restored().
  std::vector<StateItem> state();
  Status restored();
  /// Of each layer whose importance decides, its share of large values and whether it is dense, as last decided; NaN
  /// before that.
  std::vector<Metric> importance() const;

 private:
  struct Kept {
    AveragedLayer sizes;
    MethodOptions method;
    MethodState state;
  };

  MethodOptions method_of(const AveragedLayer& sizes) const;
  Options options(Kept& layer);

  MethodChoice method_;
  GradientTap tap_;
  std::vector<Kept> layers_;
  std::unique_ptr<SkipImportance> importance_;  // none unless the method asks for it
  std::vector<std::int64_t> saved_importance_;  // the length in bytes, then the bytes, and room for what is to come
};

}  // namespace lacuna::workloads
