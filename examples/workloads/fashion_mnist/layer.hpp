#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lacuna::workloads {

/// A dense layer, or a rank's part of one. Each vector holds the inputs x outputs weights, by rows, and then the
/// biases, one per output unless said otherwise: what is exchanged between ranks is one contiguous buffer per layer.
struct Layer {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::vector<float> parameters;
  std::vector<float> gradient;
  std::vector<float> momentum;

  std::size_t weights() const { return inputs * outputs; }
};

/// All vectors zero.
Layer make_layer(std::size_t inputs, std::size_t outputs, std::size_t biases);

/// The weights with which the layer of that number begins (He et al., "Delving deep into rectifiers", 2015, uniform),
/// by rows.
std::vector<float> initial_weights(std::uint64_t seed, std::size_t layer, std::size_t inputs, std::size_t outputs);

/// Gradient descent with momentum: momentum = factor * momentum + gradient; parameters -= rate * momentum.
void update(Layer& layer, float rate, float factor);

/// A number that tells parameters of different bits apart; `start` goes into it.
std::uint64_t fingerprint(const Layer& layer, std::uint64_t start);

}  // namespace lacuna::workloads
