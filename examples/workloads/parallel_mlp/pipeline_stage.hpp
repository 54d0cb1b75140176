#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "examples/workloads/parallel_mlp/grid.hpp"
#include "examples/workloads/parallel_mlp/split_layer.hpp"

namespace lacuna::workloads {

/// One stage of a pipeline, in which each stage has the same number of layers. It also holds the values of the
/// micro-batches that are between their forward and their backward pass. Each micro-batch lies in a slot, which its
/// backward pass sets free. Values are stored by features, as SplitLayer says. They travel between the ranks of the
/// pipeline group in slices: a slice is what a rank of the tensor group holds of the features between two layers.
class PipelineStage {
 public:
  struct Options {
    std::vector<std::size_t> widths;  ///< widths of the whole network
    std::size_t most_samples = 1;     ///< the most that a micro-batch has
    std::size_t slots = 1;
  };

  /// The grid must outlive the stage.
  PipelineStage(Grid& grid, const Options& options);

  bool first() const { return grid_->place.pipeline == 0; }
  bool last() const { return grid_->place.pipeline + 1 == grid_->sizes.pipeline; }
  std::vector<SplitLayer>& layers() { return layers_; }
  const std::vector<SplitLayer>& layers() const { return layers_; }

  void initialise(std::uint64_t seed);
  void clear_gradients();

  /// A micro-batch of that many samples enters the slot.
  void begin(std::size_t slot, std::size_t samples);
  /// Returns where the samples of the first stage go before forward(). layers().front() says with which features.
  std::span<float> inputs(std::size_t slot);
  /// Returns what the last stage has computed in forward().
  std::span<const float> outputs(std::size_t slot) const { return slots_[slot].output; }
  /// Returns where the loss's gradient by the outputs of the last stage goes before backward().
  std::span<float> output_delta(std::size_t slot);

  /// Receives the inputs unless this is the first stage, and starts to send the outputs unless it is the last.
  Status forward(std::size_t slot);
  /// Receives the outputs' gradient unless this is the last stage, and starts to send the inputs' gradient unless it is
  /// the first. Adds to the gradients and calls `done` with each layer, from the last to the first, as soon as its
  /// gradient has what this micro-batch gives.
  Status backward(std::size_t slot, const std::function<Status(std::size_t layer)>& done);

  /// Returns the time spent waiting for other ranks.
  std::chrono::nanoseconds waited() const;

 private:
  struct Slot {
    std::size_t samples = 0;
    std::vector<std::vector<float>> operands;  // one for each layer; backward() needs them
    std::vector<float> output;
    Request sent;  // sends the output
  };

  std::size_t output_features(std::size_t layer) const { return layers_[layer].output_features(); }
  std::span<float> delta(std::size_t layer, std::size_t samples);
  Status receive(std::span<float> data, Rank from, int tag);
  Status wait_for(Request& request);

  Grid* grid_;
  std::vector<SplitLayer> layers_;
  std::vector<Slot> slots_;
  std::vector<std::vector<float>> deltas_;  // the loss's gradients by each layer's outputs
  std::vector<float> below_;                // the loss's gradient by the outputs of the stage below
  Request sent_below_;
  std::chrono::nanoseconds waited_{0};
};

}  // namespace lacuna::workloads
