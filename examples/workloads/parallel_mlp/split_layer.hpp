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

/// Which weights of a layer a rank of a tensor-parallel group has: those of some outputs, or those of some inputs.
enum class Cut : std::uint8_t { Columns, Rows };

/// A layer of a multilayer perceptron and its place there.
struct LayerShape {
  std::size_t index = 0;
  std::size_t layers = 1;  ///< of the whole network
  std::size_t inputs = 0;
  std::size_t outputs = 0;

  bool first() const { return index == 0; }
  bool last() const { return index + 1 == layers; }
  /// Rows and columns in turn; the last layer is cut by rows.
  Cut cut() const { return (layers - 1 - index) % 2 == 0 ? Cut::Rows : Cut::Columns; }
};

/// Ok if `ranks` can share the layers of a network with these widths.
Status check_cuts(const std::vector<std::size_t>& widths, Rank ranks);

/// A rank's part of a dense layer that a group of T ranks shares (after Shoeybi et al., "Megatron-LM", 2019, and
/// Korthikanti et al., "Reducing activation recomputation", 2022). Matrices of values are stored by features: value
/// (feature, sample) at [feature * samples + sample], so that a range of features is contiguous. Between two layers
/// each rank holds its T-th of the features:
///
///   cut by columns   forward: allgather of the inputs, own outputs    backward: reduce_scatter of the partial sums
///   cut by rows      forward: reduce_scatter of the partial sums      backward: allgather of the outputs' gradient
///   the last layer   forward: allreduce of the partial sums           backward: nothing; all ranks hold all outputs
///
/// The first layer's operand comes from files, and it needs no gradient of its inputs. The calls block; all ranks of
/// the group make them in the same order.
class SplitLayer {
 public:
  /// The group must outlive the layer; `most_samples` is the most of a pass.
  SplitLayer(const LayerShape& shape, Communicator& group, std::size_t most_samples);

  /// This rank's part of what the whole layer begins with.
  void initialise(std::uint64_t seed);

  const LayerShape& shape() const { return shape_; }
  /// The weights are those of operand features x product features; there is a bias for each output feature.
  Layer& part() { return part_; }
  const Layer& part() const { return part_; }

  /// Features that forward() multiplies: all inputs, or where the layer is cut by rows this rank's.
  std::size_t operand_features() const { return part_.inputs; }
  /// Number of the operand's first feature among all inputs.
  std::size_t first_operand_feature() const { return shape_.cut() == Cut::Rows ? rank() * part_.inputs : 0; }
  /// Features of forward()'s output on this rank.
  std::size_t output_features() const { return shape_.last() ? shape_.outputs : shape_.outputs / ranks(); }
  /// The place in the operand that this rank fills before forward().
  std::span<float> own_inputs(std::span<float> operand) const;

  /// output = the layer's outputs, after ReLU unless it is the last. Fills the rest of the operand, which backward()
  /// needs again.
  Status forward(std::span<float> operand, std::span<float> output);
  /// Adds to the gradient of the parameters. `delta` is the loss's gradient by this layer's outputs, before their
  /// ReLU; `below` becomes that by the outputs of the layer below, and is left alone by the first layer.
  Status backward(std::span<float> operand, std::span<const float> delta, std::span<float> below);

  /// Time spent waiting for the group.
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
  std::vector<float> partial_;         // all outputs, or the gradient by all inputs, as far as this rank's weights give
  std::vector<float> gathered_delta_;  // by all outputs
  std::vector<float> delta_by_samples_;
  std::vector<float> gradient_;  // of the weights, from one micro-batch
  std::chrono::nanoseconds waited_{0};
};

}  // namespace lacuna::workloads
