#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace lacuna::workloads {

/// A dense layer, or a rank's share of one. Each vector holds the inputs x outputs weights, by rows, and then the
/// biases, of which there is one for each output unless said otherwise. So what ranks exchange is one contiguous buffer
/// for each layer.
struct Layer {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::vector<float> parameters;
  std::pmr::vector<float> gradient;  ///< in memory that the other ranks of the host map
  std::vector<float> momentum;

  std::size_t weights() const { return inputs * outputs; }
};

/// Makes a layer whose vectors are all zero.
Layer make_layer(std::size_t inputs, std::size_t outputs, std::size_t biases);

/// Returns the weights with which the layer of that number begins (He et al., "Delving deep into rectifiers", 2015,
/// uniform), by rows.
std::vector<float> initial_weights(std::uint64_t seed, std::size_t layer, std::size_t inputs, std::size_t outputs);

/// Does a step of gradient descent with momentum: momentum = factor * momentum + gradient; parameters -= rate *
/// momentum.
void update(Layer& layer, float rate, float factor);

/// Returns a number that differs between parameters with different bits. `start` goes into it.
std::uint64_t fingerprint(std::span<const float> parameters, std::uint64_t start);

}  // namespace lacuna::workloads
