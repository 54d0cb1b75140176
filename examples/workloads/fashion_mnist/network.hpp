#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "examples/workloads/fashion_mnist/convolution.hpp"
#include "examples/workloads/fashion_mnist/layer.hpp"
#include "examples/workloads/fashion_mnist/loss.hpp"
#include "examples/workloads/fashion_mnist/matrix.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::workloads {

/// The layers of a network, from the images to the classes.
struct NetworkShape {
  Volume image;
  std::vector<std::size_t>
      filters;  ///< of each convolution of 3 x 3 places, behind which the greatest of 2 x 2 are taken
  std::vector<std::size_t> widths;  ///< outputs of the dense layers behind these; the last one's are the classes
};

/// Returns Ok, or why there is no such network.
Status check(const NetworkShape& shape);

/// A network of convolutions, if any, and dense layers with ReLU between them, and softmax with cross entropy at the
/// end. The weights of a convolution are those of a dense layer from the values around a place to its filters. A pass
/// calls forward() and begin_backward(). Then it calls parameter_gradient() for each layer from the last to the first,
/// and also input_gradient() for each but the first. `pause` is called between pieces of work of some ten microseconds.
class Network {
 public:
  /// The shape must have been checked. `batch` is the most samples in a pass.
  Network(const NetworkShape& shape, std::size_t batch);

  /// Draws the weights and clears biases and momenta.
  void initialise(std::uint64_t seed);

  std::vector<Layer>& layers() { return layers_; }
  const std::vector<Layer>& layers() const { return layers_; }
  std::size_t batch() const { return batch_; }

  /// Returns the samples of the next pass, by rows, to be filled.
  std::span<float> inputs() { return activations_.front(); }

  void forward(std::size_t samples);
  /// Scores the samples of the last forward().
  Score score(std::span<const std::uint8_t> labels) const;
  /// Takes the gradient of the mean loss by the network's outputs.
  void begin_backward(std::span<const std::uint8_t> labels);
  /// Fills the layer's gradient.
  void parameter_gradient(std::size_t layer, const Pause& pause);
  /// Continues with the outputs of the layer below, through its ReLU.
  void input_gradient(std::size_t layer, const Pause& pause);

 private:
  /// What a convolution holds beside its layer.
  struct Convolution {
    Volume inputs;
    Volume outputs;  // before the greatest values are taken
    std::vector<float> windows;
    std::vector<float> values;
    std::vector<std::uint8_t> which;
  };

  void add_layer(std::size_t inputs, std::size_t outputs);
  bool convolves(std::size_t layer) const { return layer < convolutions_.size(); }
  /// Returns how many rows of layer.inputs values the layer's weights are multiplied with: one for each sample, or for
  /// each place.
  std::size_t rows(std::size_t layer) const;
  const float* operand(std::size_t layer) const;
  void convolve(std::size_t layer);
  void multiply_weights(std::size_t layer, float* out, float lowest) const;
  void dense_input_gradient(std::size_t layer, const Pause& pause);
  void convolution_input_gradient(std::size_t layer, const Pause& pause);
  std::span<const float> outputs() const;

  std::size_t batch_ = 0;
  std::size_t samples_ = 0;
  std::vector<Layer> layers_;
  std::vector<Convolution> convolutions_;        // those of the first layers
  std::vector<std::vector<float>> activations_;  // the inputs of each layer, then the outputs of the last
  std::vector<float> delta_;  // the loss's gradient by the products of the current layer's weights, by rows
  std::vector<float> below_;  // the loss's gradient by the current layer's inputs, by samples
  std::vector<float> by_outputs_;
  std::vector<float> by_inputs_;
};

}  // namespace lacuna::workloads
