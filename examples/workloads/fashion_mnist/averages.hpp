#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bindings/cpp/memory.hpp"
#include "bindings/workload/workload.hpp"
#include "examples/workloads/fashion_mnist/xi.hpp"

namespace lacuna::workloads {

/// A layer, or this rank's share of one, whose gradient is averaged: its weights, then its biases.
struct AveragedLayer {
  std::size_t number = 0;  ///< its number in the whole network
  std::string name{};      ///< empty: "layer" and the number
  std::size_t weights = 0;
  std::size_t parameters = 0;  ///< how many weights and biases
};

/// Returns the momentum that a method has of its own; 0: it has none.
double momentum_of(const MethodOptions& method);

/// Averages a network's gradients as a method wants it, and holds what that needs from step to step. Layers that follow
/// one another are averaged together, in a bucket, up to a size. A bucket is one tensor to the method, which then has
/// one threshold for it. All ranks that average together make equal objects and the same calls.
class Averages {
 public:
  /// Buckets have at least that many bytes. 0: each layer has its own.
  Averages(const Task& task, const std::vector<AveragedLayer>& layers, std::size_t bucket_bytes = 0);

  /// Returns what is averaged in each step, as Workload::gradients() does.
  std::vector<GradientShape> gradients() const;
  /// Returns Ok, or why these ranks cannot average in this way.
  Status check(Communicator& ranks);
  /// Takes a layer's gradient. Layers come from the last to the first, by their place in the list. With the last one of
  /// a bucket its average begins. xi() tells about a step in which all layers are `measured`.
  Status give(Communicator& ranks, std::size_t layer, std::span<float> gradient, bool measured = false);
  /// Waits until the average has replaced the gradient that was given. Layers come in the same order as in give().
  Status take(std::size_t layer);
  /// Returns the momentum that is left to the trainer. It is 0 if the method's own momentum is in what it averages.
  float momentum(double of_trainer) const;

  /// Returns the items for Workload::state().
  std::vector<StateItem> state();
  /// For each layer whose importance decides, returns its share of large values and whether it is dense, as last
  /// decided. Both are NaN before that.
  std::vector<Metric> importance() const;
  /// Returns xi for the step that was measured last.
  Result<double> xi(Communicator& ranks) const { return xi_.measure(ranks); }

 private:
  struct Bucket {
    std::vector<AveragedLayer> layers;
    std::size_t first = 0;  ///< place of the first layer in the list of all layers
    std::size_t parameters = 0;
    MethodOptions method{};
    MethodState state{};
    std::pmr::vector<float> merged{&mappable_memory()};  ///< the gradients of several layers
    std::vector<std::span<float>> gradients{};           ///< gradients that have come, the last layer first
    CallRequest average{};
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
