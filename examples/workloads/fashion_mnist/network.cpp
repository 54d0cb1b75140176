#include "examples/workloads/fashion_mnist/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace lacuna::workloads {
namespace {

constexpr float no_bound = -std::numeric_limits<float>::infinity();

}  // namespace

Status check(const NetworkShape& shape) {
  Volume volume = shape.image;
  for (std::size_t i = 0; i < shape.filters.size(); ++i) volume = volume.halved();
  if (volume.places() > 0) return Status::ok();
  return {Code::InvalidArgument, fmt::format("images of {} x {} pixels are too small to be halved by {} convolutions",
                                             shape.image.height, shape.image.width, shape.filters.size())};
}

Network::Network(const NetworkShape& shape, std::size_t batch) : batch_(batch) {
  Volume volume = shape.image;
  for (const std::size_t filters : shape.filters) {
    const Volume outputs{volume.height, volume.width, filters};
    const Volume after = outputs.halved();
    add_layer(window * volume.channels, filters);
    activations_.emplace_back(batch * volume.values());
    convolutions_.push_back({.inputs = volume,
                             .outputs = outputs,
                             .windows = std::vector<float>(batch * window * volume.values()),
                             .values = std::vector<float>(batch * outputs.values()),
                             .which = std::vector<std::uint8_t>(batch * after.values())});
    volume = after;
  }
  std::size_t inputs = volume.values();
  for (const std::size_t width : shape.widths) {
    add_layer(inputs, width);
    activations_.emplace_back(batch * inputs);
    inputs = width;
  }
  activations_.emplace_back(batch * inputs);
  std::size_t most = 0;
  for (const std::vector<float>& values : activations_) most = std::max(most, values.size());
  for (std::size_t l = 0; l < convolutions_.size(); ++l) {
    most = std::max({most, convolutions_[l].values.size(), convolutions_[l].windows.size(), layers_[l].weights()});
  }
  for (std::vector<float>* values : {&delta_, &below_, &by_outputs_, &by_inputs_}) values->resize(most);
}

void Network::add_layer(std::size_t inputs, std::size_t outputs) {
  layers_.push_back(make_layer(inputs, outputs, outputs));
}

void Network::initialise(std::uint64_t seed) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    std::fill(layer.parameters.begin(), layer.parameters.end(), 0.0F);
    std::fill(layer.momentum.begin(), layer.momentum.end(), 0.0F);
    std::ranges::copy(initial_weights(seed, l, layer.inputs, layer.outputs), layer.parameters.begin());
  }
}

std::size_t Network::rows(std::size_t layer) const {
  return samples_ * (convolves(layer) ? convolutions_[layer].inputs.places() : 1);
}

const float* Network::operand(std::size_t layer) const {
  return convolves(layer) ? convolutions_[layer].windows.data() : activations_[layer].data();
}

void Network::forward(std::size_t samples) {
  samples_ = samples;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (convolves(l)) {
      convolve(l);
    } else {
      multiply_weights(l, activations_[l + 1].data(), l + 1 < layers_.size() ? 0.0F : no_bound);
    }
  }
}

/// The greatest value of a place is taken before the ReLU. The other order would give the same.
void Network::convolve(std::size_t l) {
  Convolution& convolution = convolutions_[l];
  const Volume &in = convolution.inputs, &out = convolution.outputs;
  for (std::size_t i = 0; i < samples_; ++i) {
    gather_windows(in, activations_[l].data() + i * in.values(), convolution.windows.data() + i * window * in.values());
  }
  multiply_weights(l, convolution.values.data(), no_bound);
  const std::size_t kept = out.halved().values();
  for (std::size_t i = 0; i < samples_; ++i) {
    take_maxima(out, convolution.values.data() + i * out.values(), activations_[l + 1].data() + i * kept,
                convolution.which.data() + i * kept);
  }
  for (float& value : std::span(activations_[l + 1]).first(samples_ * kept)) value = std::max(value, 0.0F);
}

void Network::multiply_weights(std::size_t l, float* out, float lowest) const {
  const Layer& layer = layers_[l];
  const Product product{.a = {operand(l), layer.inputs, 1},
                        .b = layer.parameters.data(),
                        .c = out,
                        .rows = rows(l),
                        .columns = layer.outputs,
                        .depth = layer.inputs};
  multiply(product, 0, product.rows);
  const float* biases = layer.parameters.data() + layer.weights();
  for (std::size_t i = 0; i < product.rows; ++i) {
    float* row = out + i * layer.outputs;
    for (std::size_t j = 0; j < layer.outputs; ++j) row[j] = std::max(row[j] + biases[j], lowest);
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

void Network::parameter_gradient(std::size_t l, const Pause& pause) {
  Layer& layer = layers_[l];
  const std::size_t depth = rows(l);
  multiply({.a = {operand(l), 1, layer.inputs},
            .b = delta_.data(),
            .c = layer.gradient.data(),
            .rows = layer.inputs,
            .columns = layer.outputs,
            .depth = depth},
           pause);
  float* biases = layer.gradient.data() + layer.weights();
  std::fill_n(biases, layer.outputs, 0.0F);
  for (std::size_t i = 0; i < depth; ++i) {
    const float* row = delta_.data() + i * layer.outputs;
    for (std::size_t j = 0; j < layer.outputs; ++j) biases[j] += row[j];
  }
}

void Network::input_gradient(std::size_t l, const Pause& pause) {
  if (convolves(l)) {
    convolution_input_gradient(l, pause);
  } else {
    dense_input_gradient(l, pause);
  }
  const std::vector<float>& inputs = activations_[l];
  const std::size_t count = inputs.size() / batch_ * samples_;
  for (std::size_t i = 0; i < count; ++i) below_[i] = inputs[i] > 0 ? below_[i] : 0.0F;
  if (!convolves(l - 1)) {
    std::swap(delta_, below_);
    return;
  }
  const Convolution& source = convolutions_[l - 1];
  const std::size_t kept = source.outputs.halved().values();
  for (std::size_t i = 0; i < samples_; ++i) {
    return_maxima(source.outputs, below_.data() + i * kept, source.which.data() + i * kept,
                  delta_.data() + i * source.outputs.values());
  }
}

void Network::dense_input_gradient(std::size_t l, const Pause& pause) {
  const Layer& layer = layers_[l];
  transpose(delta_.data(), samples_, layer.outputs, by_outputs_.data());
  multiply({.a = {layer.parameters.data(), layer.outputs, 1},
            .b = by_outputs_.data(),
            .c = by_inputs_.data(),
            .rows = layer.inputs,
            .columns = samples_,
            .depth = layer.outputs},
           pause);
  transpose(by_inputs_.data(), layer.inputs, samples_, below_.data());
}

void Network::convolution_input_gradient(std::size_t l, const Pause& pause) {
  const Layer& layer = layers_[l];
  const Volume& in = convolutions_[l].inputs;
  transpose(layer.parameters.data(), layer.inputs, layer.outputs, by_outputs_.data());
  multiply({.a = {delta_.data(), layer.outputs, 1},
            .b = by_outputs_.data(),
            .c = by_inputs_.data(),
            .rows = rows(l),
            .columns = layer.inputs,
            .depth = layer.outputs},
           pause);
  std::fill_n(below_.begin(), samples_ * in.values(), 0.0F);
  for (std::size_t i = 0; i < samples_; ++i) {
    add_windows(in, by_inputs_.data() + i * window * in.values(), below_.data() + i * in.values());
  }
}

}  // namespace lacuna::workloads
