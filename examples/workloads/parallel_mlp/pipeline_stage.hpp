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

/// The layers of one stage of a pipeline, by equal numbers of layers, and the values of the micro-batches that are
/// between their passes. Each lies in a slot, which its backward pass sets free. Values are stored by features, as
/// SplitLayer says, and go from rank to rank of the pipeline group as slices: what a rank of the tensor group holds of
/// the features between two layers.
class PipelineStage {
 public:
  struct Options {
    std::vector<std::size_t> widths;  ///< of the whole network
    std::size_t most_samples = 1;     ///< of a micro-batch
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

  /// A micro-batch of so many samples enters the slot.
  void begin(std::size_t slot, std::size_t samples);
  /// Of the first stage: to be filled with the samples before forward(); layers().front() says with which features.
  std::span<float> inputs(std::size_t slot);
  /// Of the last stage, after forward().
  std::span<const float> outputs(std::size_t slot) const { return slots_[slot].output; }
  /// Of the last stage: to be filled with the loss's gradient by the outputs before backward().
  std::span<float> output_delta(std::size_t slot);

  /// Receives the inputs unless this is the first stage, and starts to send the outputs unless it is the last.
  Status forward(std::size_t slot);
  /// The same the other way. Adds to the gradients and calls `done` with each layer, from the last to the first, as
  /// soon as its gradient has what this micro-batch gives.
  Status backward(std::size_t slot, const std::function<Status(std::size_t layer)>& done);

  /// Time spent waiting for other ranks.
  std::chrono::nanoseconds waited() const;

 private:
  struct Slot {
    std::size_t samples = 0;
    std::vector<std::vector<float>> operands;  // one per layer; backward() needs them
    std::vector<float> output;
    Request sent;  // the output
  };

  std::size_t output_features(std::size_t layer) const { return layers_[layer].output_features(); }
  std::span<float> delta(std::size_t layer, std::size_t samples);
  Status receive(std::span<float> data, Rank from, int tag);
  Status wait_for(Request& request);

  Grid* grid_;
  std::vector<SplitLayer> layers_;
  std::vector<Slot> slots_;
  std::vector<std::vector<float>> deltas_;  // by each layer's outputs
  std::vector<float> below_;                // by the outputs of the stage below
  Request sent_below_;
  std::chrono::nanoseconds waited_{0};
};

}  // namespace lacuna::workloads
