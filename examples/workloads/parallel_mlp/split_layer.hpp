#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "examples/workloads/fashion_mnist/layer.hpp"
#include "examples/workloads/fashion_mnist/matrix.hpp"

namespace lacuna::workloads {

/// Which weights of a layer a rank of a tensor-parallel group has: the columns of some outputs, or the rows of some
/// inputs.
enum class Cut : std::uint8_t { Columns, Rows };

/// A layer of a multilayer perceptron, and its place there.
struct LayerShape {
  std::size_t index = 0;
  std::size_t layers = 1;  ///< number of layers of the whole network
  std::size_t inputs = 0;
  std::size_t outputs = 0;

  bool first() const { return index == 0; }
  bool last() const { return index + 1 == layers; }
  /// Layers are cut by rows and by columns in turn. The last layer is cut by rows.
  Cut cut() const { return (layers - 1 - index) % 2 == 0 ? Cut::Rows : Cut::Columns; }
};

/// Returns Ok if `ranks` can share the layers of a network with these widths.
Status check_cuts(const std::vector<std::size_t>& widths, Rank ranks);

/// A rank's share of a dense layer that a group of T ranks shares (after Shoeybi et al., "Megatron-LM", 2019, and
/// Korthikanti et al., "Reducing activation recomputation", 2022). Matrices of values are stored by features: value
/// (feature, sample) lies at [feature * samples + sample], so that neighbouring features are contiguous. Between two
/// layers each rank holds one T-th of the features:
///
///   cut by columns   forward: allgather of the inputs, own outputs    backward: reduce_scatter of the partial sums
///   cut by rows      forward: reduce_scatter of the partial sums      backward: allgather of the outputs' gradient
///   the last layer   forward: allreduce of the partial sums           backward: nothing; all ranks hold all outputs
///
/// The first layer's operand comes from files, so its inputs need no gradient. The calls block. All ranks of the group
/// make them in the same order.
class SplitLayer {
 public:
  /// The group must outlive the layer. `most_samples` is the most samples of a pass.
  SplitLayer(const LayerShape& shape, Communicator& group, std::size_t most_samples);

  /// Fills this rank's share of the parameters with which the whole layer begins.
  void initialise(std::uint64_t seed);

  const LayerShape& shape() const { return shape_; }
  /// Returns this rank's share. Its weights lead from operand features to product features. There is a bias for each
  /// output feature.
  Layer& part() { return part_; }
  const Layer& part() const { return part_; }

  /// Returns how many features forward() multiplies: all inputs, or this rank's if the layer is cut by rows.
  std::size_t operand_features() const { return part_.inputs; }
  /// Returns the number of the operand's first feature among all inputs.
  std::size_t first_operand_feature() const { return shape_.cut() == Cut::Rows ? rank() * part_.inputs : 0; }
  /// Returns how many features of forward()'s output this rank has.
  std::size_t output_features() const { return shape_.last() ? shape_.outputs : shape_.outputs / ranks(); }
  /// Returns the part of the operand that this rank fills before forward().
  std::span<float> own_inputs(std::span<float> operand) const;

  /// Computes the layer's outputs, after ReLU unless it is the last layer. Fills the rest of the operand, which
  /// backward() needs again.
  Status forward(std::span<float> operand, std::span<float> output);
  /// Adds to the gradient of the parameters. `delta` is the loss's gradient by this layer's outputs, before their ReLU.
  /// `below` becomes the gradient by the outputs of the layer below; the first layer leaves it as it is.
  Status backward(std::span<float> operand, std::span<const float> delta, std::span<float> below);

  /// Returns the time spent waiting for the group.
  std::chrono::nanoseconds waited() const { return waited_; }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(group_->size()); }
  std::size_t rank() const { return static_cast<std::size_t>(group_->rank()); }
  void add_gradient(std::span<const float> operand, std::span<const float> product_delta, std::span<const float> delta);
  template <class Call>
  Status wait_for(const Call& call);

  LayerShape shape_;
  Communicator* group_;
  Layer part_;
  std::vector<float> partial_;         // what this rank's weights give to all outputs, or to the gradient by all inputs
  std::vector<float> gathered_delta_;  // the loss's gradient by all outputs
  std::vector<float> delta_by_samples_;
  std::vector<float> gradient_;  // gradient of the weights, from one micro-batch
  std::chrono::nanoseconds waited_{0};
};

}  // namespace lacuna::workloads
