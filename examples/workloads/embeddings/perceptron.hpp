#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lacuna::workloads {

/// Dense layers with ReLU between them and one output. All parameters lie in one buffer: for each layer its weights, by
/// rows of inputs, and then its biases. So ranks exchange them as one tensor.
class Perceptron {
 public:
  /// `widths` are the inputs, and the outputs of each layer but the last. `batch` is the most samples of a pass.
  Perceptron(std::vector<std::size_t> widths, std::size_t batch);

  /// Draws the weights and clears the biases.
  void initialise(std::uint64_t seed);

  std::vector<float>& parameters() { return parameters_; }
  const std::vector<float>& parameters() const { return parameters_; }
  /// The gradient of the parameters, which backward() fills.
  std::vector<float>& gradient() { return gradient_; }

  /// Returns the samples of the next pass, by rows, to be filled.
  std::span<float> inputs() { return values_.front(); }
  /// Returns the output of each sample.
  std::span<const float> forward(std::size_t samples);
  /// Takes the loss's gradient by the outputs. Returns the one by the inputs, by rows of samples.
  std::span<const float> backward(std::span<const float> delta);

 private:
  std::size_t layers() const { return widths_.size() - 1; }
  /// Returns where a layer's weights begin.
  std::size_t place(std::size_t layer) const { return places_[layer]; }
  void parameter_gradient(std::size_t layer);
  void input_gradient(std::size_t layer);

  std::vector<std::size_t> widths_;
  std::size_t samples_ = 0;
  std::vector<std::size_t> places_;
  std::vector<float> parameters_, gradient_;
  std::vector<std::vector<float>> values_;  // the inputs of each layer, then the outputs of the last
  std::vector<float> delta_, below_;        // the loss's gradient by a layer's outputs, and by its inputs
  std::vector<float> transposed_;
};

}  // namespace lacuna::workloads
