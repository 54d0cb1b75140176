#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "examples/workloads/fashion_mnist/data.hpp"
#include "examples/workloads/fashion_mnist/layer.hpp"
#include "examples/workloads/fashion_mnist/matrix.hpp"
#include "examples/workloads/fashion_mnist/random.hpp"

namespace lacuna::workloads {

/// Trains a multilayer perceptron on Fashion-MNIST by its definition, in one thread and plain loops. Sums are cut as
/// the ranks of a grid cut them. Gradients are an average over replicas, and the gradient of each replica is summed
/// over its micro-batches. Sums over the inputs of the last layer and of every second layer before it consist of
/// `tensor` partial sums. So do, in the backward pass, those over the outputs of the other layers. The order of partial
/// sums is that of the ranks; with two it does not matter.
class SerialTraining {
 public:
  struct Options {
    std::vector<std::size_t> hidden;
    std::size_t batch = 1;  ///< samples of a replica
    std::size_t tensor = 1;
    std::size_t replicas = 1;
    std::size_t micro_batches = 1;
    float learning_rate = 0.1F;
    float momentum = 0.9F;
    std::uint64_t seed = 0;
  };

  /// A matrix by rows. A matrix of values has a row for each sample.
  using Matrix = std::vector<std::vector<float>>;

  SerialTraining(const Options& options, const std::filesystem::path& folder)
      : options_(options), images_(read_fashion_mnist(folder)->training) {
    widths_ = {images_.pixels};
    widths_.insert(widths_.end(), options.hidden.begin(), options.hidden.end());
    widths_.push_back(classes);
    for (std::size_t l = 0; l + 1 < widths_.size(); ++l) {
      layers_.push_back(make_layer(widths_[l], widths_[l + 1], widths_[l + 1]));
      std::ranges::copy(initial_weights(options.seed, l, widths_[l], widths_[l + 1]),
                        layers_.back().parameters.begin());
    }
  }

  void step(std::uint64_t step) {
    const std::size_t global_batch = options_.batch * options_.replicas;
    const std::uint64_t steps_per_epoch = images_.count / global_batch;
    const auto order = permutation(options_.seed, step / steps_per_epoch, images_.count);
    const std::size_t first = step % steps_per_epoch * global_batch;
    Matrix average = zeros();
    for (std::size_t replica = 0; replica < options_.replicas; ++replica) {
      Matrix sum = zeros();
      const std::size_t samples = options_.batch / options_.micro_batches;
      for (std::size_t m = 0; m < options_.micro_batches; ++m) {
        const auto from = order.begin() + static_cast<std::ptrdiff_t>(first + replica * options_.batch + m * samples);
        add(gradient({from, from + static_cast<std::ptrdiff_t>(samples)}), sum);
      }
      add(sum, average);
    }
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (std::size_t i = 0; i < average[l].size(); ++i) {
        layers_[l].gradient[i] = average[l][i] / static_cast<float>(options_.replicas);
      }
      update(layers_[l], options_.learning_rate, options_.momentum);
    }
  }

  /// Returns for each layer the weights by rows, then the biases.
  Matrix parameters() const {
    Matrix all;
    for (const Layer& layer : layers_) all.push_back(layer.parameters);
    return all;
  }

 private:
  /// Returns the sum of a[i] * b[i], in that many partial sums. The compiler chooses for the kernel whether it fuses
  /// products with sums; it chooses for each partial sum here.
  static float dot(const std::vector<float>& a, const std::vector<float>& b, std::size_t parts = 1) {
    const std::size_t depth = a.size() / parts;
    float total = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      float sum = 0;
      multiply({.a = {a.data() + part * depth, 0, 1},
                .b = b.data() + part * depth,
                .c = &sum,
                .rows = 1,
                .columns = 1,
                .depth = depth},
               0, 1);
      total = part == 0 ? sum : total + sum;
    }
    return total;
  }

  static void add(const Matrix& what, Matrix& to) {
    for (std::size_t l = 0; l < to.size(); ++l) {
      for (std::size_t i = 0; i < to[l].size(); ++i) to[l][i] += what[l][i];
    }
  }

  Matrix zeros() const {
    Matrix all;
    for (const Layer& layer : layers_) all.emplace_back(layer.parameters.size());
    return all;
  }

  bool by_rows(std::size_t layer) const { return (layers_.size() - layer) % 2 == 1; }
  /// Returns the weights that lead to an output, or from an input.
  std::vector<float> column(std::size_t l, std::size_t output) const {
    std::vector<float> weights;
    for (std::size_t k = 0; k < widths_[l]; ++k) {
      weights.push_back(layers_[l].parameters[k * widths_[l + 1] + output]);
    }
    return weights;
  }
  std::vector<float> row(std::size_t l, std::size_t input) const {
    const auto begin = layers_[l].parameters.begin() + static_cast<std::ptrdiff_t>(input * widths_[l + 1]);
    return {begin, begin + static_cast<std::ptrdiff_t>(widths_[l + 1])};
  }
  static std::vector<float> of_samples(const Matrix& values, std::size_t feature) {
    std::vector<float> all;
    for (const auto& sample : values) all.push_back(sample[feature]);
    return all;
  }

  /// Returns the values before each layer and after the last.
  std::vector<Matrix> forward(const std::vector<std::uint32_t>& samples) const {
    std::vector<Matrix> values(widths_.size());
    for (const std::uint32_t sample : samples) {
      std::vector<float>& row = values[0].emplace_back();
      const std::uint8_t* image = images_.images.data() + sample * images_.pixels;
      for (std::size_t i = 0; i < images_.pixels; ++i) row.push_back(normalised(image[i]));
    }
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (const std::vector<float>& in : values[l]) {
        std::vector<float>& out = values[l + 1].emplace_back();
        for (std::size_t j = 0; j < widths_[l + 1]; ++j) {
          const float bias = layers_[l].parameters[layers_[l].weights() + j];
          const float sum = dot(in, column(l, j), by_rows(l) ? options_.tensor : 1) + bias;
          out.push_back(l + 1 < layers_.size() ? std::max(sum, 0.0F) : sum);
        }
      }
    }
    return values;
  }

  /// Returns the gradient of softmax with cross entropy, by the outputs.
  std::vector<float> loss_gradient(const std::vector<float>& outputs, std::uint8_t label) const {
    const float highest = *std::max_element(outputs.begin(), outputs.end());
    const float scale = 1.0F / static_cast<float>(options_.batch);
    std::vector<float> delta;
    float sum = 0;
    for (float output : outputs) sum += delta.emplace_back(std::exp(output - highest));
    for (float& value : delta) value *= scale / sum;
    delta[label] -= scale;
    return delta;
  }

  Matrix gradient(const std::vector<std::uint32_t>& samples) const {
    const std::vector<Matrix> values = forward(samples);
    Matrix delta;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      delta.push_back(loss_gradient(values.back()[s], images_.labels[samples[s]]));
    }
    Matrix gradient = zeros();
    for (std::size_t l = layers_.size(); l-- > 0;) {
      const std::size_t outputs = widths_[l + 1], weights = layers_[l].weights();
      for (std::size_t i = 0; i < weights; ++i) {
        gradient[l][i] = dot(of_samples(values[l], i / outputs), of_samples(delta, i % outputs));
      }
      for (const std::vector<float>& sample : delta) {
        for (std::size_t j = 0; j < outputs; ++j) gradient[l][weights + j] += sample[j];
      }
      if (l > 0) delta = below(l, values[l], delta);
    }
    return gradient;
  }

  Matrix below(std::size_t l, const Matrix& values, const Matrix& delta) const {
    Matrix result;
    for (std::size_t s = 0; s < delta.size(); ++s) {
      std::vector<float>& sums = result.emplace_back();
      for (std::size_t k = 0; k < widths_[l]; ++k) {
        const float sum = dot(row(l, k), delta[s], by_rows(l) ? 1 : options_.tensor);
        sums.push_back(values[s][k] > 0 ? sum : 0.0F);
      }
    }
    return result;
  }

  Options options_;
  LabelledImages images_;
  std::vector<std::size_t> widths_;
  std::vector<Layer> layers_;
};

}  // namespace lacuna::workloads
