#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bindings/workload/workload.hpp"
#include "examples/workloads/fashion_mnist/xi.hpp"

namespace lacuna::workloads {

/// A layer, or this rank's part of one, whose gradient is averaged: its weights, then its biases.
struct AveragedLayer {
  std::size_t number = 0;  ///< in the whole network
  std::size_t weights = 0;
  std::size_t parameters = 0;  ///< weights and biases
};

/// The momentum that a method has of its own; 0: none.
double momentum_of(const MethodOptions& method);

/// The averaging of a network's gradients as a method wants it, and what that keeps of them from step to step. Layers
/// that follow one another are averaged together, in a bucket, up to a size: as one tensor to the method, which then
/// has one threshold for it. All ranks that average together make equal objects and the same calls.
class Averages {
 public:
  /// Buckets have so many bytes at least; 0: a layer each.
  Averages(const Task& task, const std::vector<AveragedLayer>& layers, std::size_t bucket_bytes = 0);

  /// Ok, or why these ranks cannot average so.
  Status check(Communicator& ranks);
  /// A layer's gradient is there; layers come by their place in the list, from the last to the first. With the last one
  /// of a bucket its average begins. Of a step in which all are `measured` xi() tells.
  Status give(Communicator& ranks, std::size_t layer, std::span<float> gradient, bool measured = false);
  /// Waits until the average stands in place of the gradient that was given, of layers in the same order.
  Status take(std::size_t layer);
  /// The momentum that is left to the trainer: none where the method's own is in what it averages.
  float momentum(double of_trainer) const;

  /// For Workload::state().
  std::vector<StateItem> state();
  /// Of each layer whose importance decides, its share of large values and whether it is dense, as last decided; NaN
  /// before that.
  std::vector<Metric> importance() const;
  /// Of the step that was measured last.
  Result<double> xi(Communicator& ranks) const { return xi_.measure(ranks); }

 private:
  struct Bucket {
    std::vector<AveragedLayer> layers;
    std::size_t first = 0;  ///< of them, by its place in the list of all
    std::size_t parameters = 0;
    MethodOptions method{};
    MethodState state{};
    std::vector<float> merged{};                ///< the gradients of several layers
    std::vector<std::span<float>> gradients{};  ///< of those that have come, the last layer first
    Request average{};
    bool measured = false;
  };

  MethodOptions method_of(const Bucket& bucket) const;
  Options options(Bucket& bucket);
  Bucket& bucket_of(std::size_t layer);
  std::size_t number_of(const Bucket& bucket) const { return static_cast<std::size_t>(&bucket - buckets_.data()); }
  Status start(Communicator& ranks, Bucket& bucket, bool measured);
  Status end(Bucket& bucket);

  MethodChoice method_;
  GradientTap tap_;
  std::vector<Bucket> buckets_;
  Xi xi_;
  std::vector<MethodState*> model_;  // the states of all buckets
};

}  // namespace lacuna::workloads
