#include "examples/workloads/fashion_mnist/layer.hpp"

#include <bit>
#include <cmath>

#include "bindings/cpp/memory.hpp"
#include "examples/workloads/fashion_mnist/random.hpp"

namespace lacuna::workloads {
namespace {

constexpr std::uint64_t first_weight_stream = std::uint64_t{1} << 32;  // epochs use the streams below

}  // namespace

Layer make_layer(std::size_t inputs, std::size_t outputs, std::size_t biases) {
  const std::vector<float> zeros(inputs * outputs + biases);
  return {.inputs = inputs,
          .outputs = outputs,
          .parameters = zeros,
          .gradient = {zeros.begin(), zeros.end(), &mappable_memory()},
          .momentum = zeros};
}

std::vector<float> initial_weights(std::uint64_t seed, std::size_t layer, std::size_t inputs, std::size_t outputs) {
  SplitMix random(seed, first_weight_stream + layer);
  const float bound = std::sqrt(6.0F / static_cast<float>(inputs));
  std::vector<float> weights(inputs * outputs);
  for (float& weight : weights) weight = bound * random.signed_unit();
  return weights;
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

std::uint64_t fingerprint(std::span<const float> parameters, std::uint64_t start) {
  for (float value : parameters) {
    start = std::rotl(start ^ std::bit_cast<std::uint32_t>(value), 23) * 0x9e3779b97f4a7c15U;
  }
  return start;
}

}  // namespace lacuna::workloads
