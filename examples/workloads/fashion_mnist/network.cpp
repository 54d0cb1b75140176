#include "examples/workloads/fashion_mnist/network.hpp"

#include <algorithm>
#include <limits>

namespace lacuna::workloads {

Network::Network(const std::vector<std::size_t>& widths, std::size_t batch) : batch_(batch) {
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    layers_.push_back(make_layer(widths[l], widths[l + 1], widths[l + 1]));
  }
  for (std::size_t width : widths) activations_.emplace_back(batch * width);
  const std::size_t widest = *std::max_element(widths.begin(), widths.end());
  delta_.resize(batch * widest);
  delta_by_outputs_.resize(batch * widest);
  delta_by_inputs_.resize(batch * widest);
}

void Network::initialise(std::uint64_t seed) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    std::fill(layer.parameters.begin(), layer.parameters.end(), 0.0F);
    std::fill(layer.momentum.begin(), layer.momentum.end(), 0.0F);
    std::ranges::copy(initial_weights(seed, l, layer.inputs, layer.outputs), layer.parameters.begin());
  }
}

void Network::forward(std::size_t samples) {
  samples_ = samples;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    float* out = activations_[l + 1].data();
    const Product product{.a = {activations_[l].data(), layer.inputs, 1},
                          .b = layer.parameters.data(),
                          .c = out,
                          .rows = samples,
                          .columns = layer.outputs,
                          .depth = layer.inputs};
    multiply(product, 0, samples);
    const float lowest = l + 1 < layers_.size() ? 0.0F : -std::numeric_limits<float>::infinity();
    const float* biases = layer.parameters.data() + layer.weights();
    for (std::size_t i = 0; i < samples; ++i) {
      float* row = out + i * layer.outputs;
      for (std::size_t j = 0; j < layer.outputs; ++j) row[j] = std::max(row[j] + biases[j], lowest);
    }
  }
}

std::span<const float> Network::outputs() const {
  return std::span(activations_.back()).first(samples_ * layers_.back().outputs);
}

Score Network::score(std::span<const std::uint8_t> labels) const {
  return workloads::score(outputs(), labels.first(samples_));
}

void Network::begin_backward(std::span<const std::uint8_t> labels) {
  loss_gradient(outputs(), labels.first(samples_), 1.0F / static_cast<float>(samples_), delta_);
}

void Network::parameter_gradient(std::size_t layer_index, const Pause& pause) {
  Layer& layer = layers_[layer_index];
  multiply({.a = {activations_[layer_index].data(), 1, layer.inputs},
            .b = delta_.data(),
            .c = layer.gradient.data(),
            .rows = layer.inputs,
            .columns = layer.outputs,
            .depth = samples_},
           pause);
  float* biases = layer.gradient.data() + layer.weights();
  std::fill_n(biases, layer.outputs, 0.0F);
  for (std::size_t i = 0; i < samples_; ++i) {
    const float* row = delta_.data() + i * layer.outputs;
    for (std::size_t j = 0; j < layer.outputs; ++j) biases[j] += row[j];
  }
}

void Network::input_gradient(std::size_t layer_index, const Pause& pause) {
  const Layer& layer = layers_[layer_index];
  transpose(delta_.data(), samples_, layer.outputs, delta_by_outputs_.data());
  multiply({.a = {layer.parameters.data(), layer.outputs, 1},
            .b = delta_by_outputs_.data(),
            .c = delta_by_inputs_.data(),
            .rows = layer.inputs,
            .columns = samples_,
            .depth = layer.outputs},
           pause);
  transpose(delta_by_inputs_.data(), layer.inputs, samples_, delta_.data());
  const std::vector<float>& inputs = activations_[layer_index];
  for (std::size_t i = 0; i < samples_ * layer.inputs; ++i) delta_[i] = inputs[i] > 0 ? delta_[i] : 0.0F;
}

}  // namespace lacuna::workloads
