#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "examples/workloads/fashion_mnist/layer.hpp"
#include "examples/workloads/fashion_mnist/loss.hpp"
#include "examples/workloads/fashion_mnist/matrix.hpp"

namespace lacuna::workloads {

/// A multilayer perceptron: dense layers with ReLU between them and softmax with cross entropy at the end. A pass is
/// forward(), begin_backward(), then for each layer from the last to the first parameter_gradient() and, but for the
/// first, input_gradient(). `pause` is called between pieces of work of some ten microseconds.
class Network {
 public:
  /// `widths` are the numbers of values between the layers, from the inputs to the classes; `batch` is the most samples
  /// in a pass.
  Network(const std::vector<std::size_t>& widths, std::size_t batch);

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
  std::span<const float> outputs() const;

  std::size_t batch_ = 0;
  std::size_t samples_ = 0;
  std::vector<Layer> layers_;
  std::vector<std::vector<float>> activations_;  // the inputs of each layer, then the outputs of the last
  std::vector<float> delta_;                     // the loss's gradient by the current layer's outputs, by samples
  std::vector<float> delta_by_outputs_;
  std::vector<float> delta_by_inputs_;
};

}  // namespace lacuna::workloads
