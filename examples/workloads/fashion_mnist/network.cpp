#include "examples/workloads/fashion_mnist/network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "examples/workloads/fashion_mnist/random.hpp"

namespace lacuna::workloads {
namespace {

constexpr std::size_t rows_between_pauses = 8 * row_tile;
constexpr std::uint64_t first_weight_stream = std::uint64_t{1} << 32;  // epochs use the streams below

void multiply_in_blocks(const Product& product, const Network::Pause& pause) {
  for (std::size_t row = 0; row < product.rows; row += rows_between_pauses) {
    multiply(product, row, std::min(row + rows_between_pauses, product.rows));
    pause();
  }
}

}  // namespace

Network::Network(const std::vector<std::size_t>& widths, std::size_t batch) : batch_(batch) {
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    Layer layer{.inputs = widths[l], .outputs = widths[l + 1], .parameters = {}, .gradient = {}, .momentum = {}};
    const std::size_t size = layer.weights() + layer.outputs;
    layer.parameters.resize(size);
    layer.gradient.resize(size);
    layer.momentum.resize(size);
    layers_.push_back(std::move(layer));
  }
  for (std::size_t width : widths) activations_.emplace_back(batch * width);
  const std::size_t widest = *std::max_element(widths.begin(), widths.end());
  delta_.resize(batch * widest);
  delta_by_outputs_.resize(batch * widest);
  delta_by_inputs_.resize(batch * widest);
}

void Network::initialise(std::uint64_t seed) {
  std::uint64_t stream = first_weight_stream;
  for (Layer& layer : layers_) {
    SplitMix random(seed, stream++);
    const float bound = std::sqrt(6.0F / static_cast<float>(layer.inputs));
    std::fill(layer.parameters.begin(), layer.parameters.end(), 0.0F);
    std::fill(layer.momentum.begin(), layer.momentum.end(), 0.0F);
    for (std::size_t i = 0; i < layer.weights(); ++i) layer.parameters[i] = bound * random.signed_unit();
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

std::span<const float> Network::outputs(std::size_t sample) const {
  const std::size_t classes = layers_.back().outputs;
  return std::span(activations_.back()).subspan(sample * classes, classes);
}

Score Network::score(std::span<const std::uint8_t> labels) const {
  Score score;
  for (std::size_t i = 0; i < samples_; ++i) {
    const std::span<const float> row = outputs(i);
    const auto highest = std::max_element(row.begin(), row.end());
    float sum = 0;
    for (float value : row) sum += std::exp(value - *highest);
    score.loss += static_cast<double>(std::log(sum) - (row[labels[i]] - *highest));
    if (static_cast<std::size_t>(highest - row.begin()) == labels[i]) ++score.correct;
  }
  return score;
}

void Network::begin_backward(std::span<const std::uint8_t> labels) {
  const float scale = 1.0F / static_cast<float>(samples_);
  for (std::size_t i = 0; i < samples_; ++i) {
    const std::span<const float> row = outputs(i);
    const std::span<float> delta = std::span(delta_).subspan(i * row.size(), row.size());
    const float highest = *std::max_element(row.begin(), row.end());
    float sum = 0;
    for (std::size_t j = 0; j < row.size(); ++j) sum += delta[j] = std::exp(row[j] - highest);
    for (float& value : delta) value *= scale / sum;
    delta[labels[i]] -= scale;
  }
}

void Network::parameter_gradient(std::size_t layer_index, const Pause& pause) {
  Layer& layer = layers_[layer_index];
  multiply_in_blocks({.a = {activations_[layer_index].data(), 1, layer.inputs},
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
  multiply_in_blocks({.a = {layer.parameters.data(), layer.outputs, 1},
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

void update(Layer& layer, float rate, float factor) {
  const std::size_t count = layer.parameters.size();
  float* parameters = layer.parameters.data();
  float* momentum = layer.momentum.data();
  const float* gradient = layer.gradient.data();
  for (std::size_t i = 0; i < count; ++i) {
    momentum[i] = factor * momentum[i] + gradient[i];
    parameters[i] -= rate * momentum[i];
  }
}

}  // namespace lacuna::workloads
