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
  std::vector<std::size_t> widths;  ///< outputs of the dense layers after these, the last one's the classes
};

/// Ok, or why there is no such network.
Status check(const NetworkShape& shape);

/// Convolutions, if any, and dense layers with ReLU between them and softmax with cross entropy at the end. The weights
/// of a convolution are those of a dense layer from the values around a place to its filters. A pass is forward(),
/// begin_backward(), then for each layer from the last to the first parameter_gradient() and, but for the first,
/// input_gradient(). `pause` is called between pieces of work of some ten microseconds.
class Network {
 public:
  /// The shape has been checked; `batch` is the most samples in a pass.
  Network(const NetworkShape& shape, std::size_t batch);

  /// Draws the weights and clears biases and momenta.
  void initialise(std::uint64_t seed);

  std::vector<Layer>& layers() { return layers_; }
  const std::vector<Layer>& layers() const { return layers_; }
  std::size_t batch() const { return batch_; }

  /// The samples of the next pass, by rows.
  std::span<float> inputs() { return activations_.front(); }

  void forward(std::size_t samples);
  /// Of the samples of the last forward().
  Score score(std::span<const std::uint8_t> labels) const;
  /// The gradient of the mean loss by the network's outputs.
  void begin_backward(std::span<const std::uint8_t> labels);
  /// Fills the layer's gradient.
  void parameter_gradient(std::size_t layer, const Pause& pause);
  /// Goes on to the outputs of the layer below, through its ReLU.
  void input_gradient(std::size_t layer, const Pause& pause);

 private:
  /// What a convolution holds beside its layer.
  struct Convolution {
    Volume inputs;
    Volume outputs;  // before the greatest are taken
    std::vector<float> windows;
    std::vector<float> values;
    std::vector<std::uint8_t> which;
  };

  void add_layer(std::size_t inputs, std::size_t outputs);
  bool convolves(std::size_t layer) const { return layer < convolutions_.size(); }
  /// What the layer's weights are multiplied with: a row of layer.inputs values for each sample, or for each place.
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
  std::vector<Convolution> convolutions_;        // the first layers
  std::vector<std::vector<float>> activations_;  // the inputs of each layer, then the outputs of the last
  std::vector<float> delta_;  // the loss's gradient by what the current layer's weights gave, by rows
  std::vector<float> below_;  // by its inputs, by samples
  std::vector<float> by_outputs_;
  std::vector<float> by_inputs_;
};

}  // namespace lacuna::workloads
