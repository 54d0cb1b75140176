#include "examples/workloads/embeddings/perceptron.hpp"

#include <algorithm>
#include <utility>

#include "examples/workloads/fashion_mnist/layer.hpp"
#include "examples/workloads/fashion_mnist/matrix.hpp"

namespace lacuna::workloads {

Perceptron::Perceptron(std::vector<std::size_t> widths, std::size_t batch) : widths_(std::move(widths)) {
  widths_.push_back(1);
  std::size_t parameters = 0, weights = 0, widest = 0;
  for (const std::size_t width : widths_) {
    values_.emplace_back(batch * width);
    widest = std::max(widest, width);
  }
  for (std::size_t l = 0; l < layers(); ++l) {
    places_.push_back(parameters);
    parameters += (widths_[l] + 1) * widths_[l + 1];
    weights = std::max(weights, widths_[l] * widths_[l + 1]);
  }
  parameters_.resize(parameters);
  gradient_.resize(parameters);
  delta_.resize(batch * widest);
  below_.resize(batch * widest);
  transposed_.resize(weights);
}

void Perceptron::initialise(std::uint64_t seed) {
  std::fill(parameters_.begin(), parameters_.end(), 0.0F);
  for (std::size_t l = 0; l < layers(); ++l) {
    std::ranges::copy(initial_weights(seed, l, widths_[l], widths_[l + 1]), parameters_.data() + place(l));
  }
}

std::span<const float> Perceptron::forward(std::size_t samples) {
  samples_ = samples;
  for (std::size_t l = 0; l < layers(); ++l) {
    const std::size_t inputs = widths_[l], outputs = widths_[l + 1];
    const float* weights = parameters_.data() + place(l);
    float* out = values_[l + 1].data();
    multiply({.a = {values_[l].data(), inputs, 1},
              .b = weights,
              .c = out,
              .rows = samples,
              .columns = outputs,
              .depth = inputs},
             0, samples);
    const float* biases = weights + inputs * outputs;
    const bool last = l + 1 == layers();
    for (std::size_t i = 0; i < samples * outputs; ++i) {
      const float value = out[i] + biases[i % outputs];
      out[i] = last ? value : std::max(value, 0.0F);
    }
  }
  return std::span(values_.back()).first(samples);
}

std::span<const float> Perceptron::backward(std::span<const float> delta) {
  std::ranges::copy(delta.first(samples_), delta_.begin());
  for (std::size_t l = layers(); l-- > 0;) {
    parameter_gradient(l);
    input_gradient(l);
    std::swap(delta_, below_);
  }
  return std::span(delta_).first(samples_ * widths_.front());
}

void Perceptron::parameter_gradient(std::size_t l) {
  const std::size_t inputs = widths_[l], outputs = widths_[l + 1];
  float* weights = gradient_.data() + place(l);
  multiply({.a = {values_[l].data(), 1, inputs},
            .b = delta_.data(),
            .c = weights,
            .rows = inputs,
            .columns = outputs,
            .depth = samples_},
           0, inputs);
  float* biases = weights + inputs * outputs;
  std::fill_n(biases, outputs, 0.0F);
  for (std::size_t i = 0; i < samples_ * outputs; ++i) biases[i % outputs] += delta_[i];
}

/// The outputs of the layer below have passed its ReLU.
void Perceptron::input_gradient(std::size_t l) {
  const std::size_t inputs = widths_[l], outputs = widths_[l + 1];
  transpose(parameters_.data() + place(l), inputs, outputs, transposed_.data());
  multiply({.a = {delta_.data(), outputs, 1},
            .b = transposed_.data(),
            .c = below_.data(),
            .rows = samples_,
            .columns = inputs,
            .depth = outputs},
           0, samples_);
  if (l == 0) return;
  for (std::size_t i = 0; i < samples_ * inputs; ++i) below_[i] = values_[l][i] > 0 ? below_[i] : 0.0F;
}

}  // namespace lacuna::workloads
