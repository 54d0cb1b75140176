#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "examples/workloads/embeddings/perceptron.hpp"

namespace lacuna::workloads {

/// What a model for clicks consists of.
struct ClickModelShape {
  std::size_t fields = 1;             ///< categories of a sample
  std::size_t rows = 1;               ///< categories of all fields together
  std::size_t width = 16;             ///< numbers of a row: a weight, and an embedding of width - 1 numbers
  std::vector<std::size_t> hidden{};  ///< layers of the perceptron between embeddings and output
};

/// Tells the log-odds of a click (after Guo et al., "DeepFM", 2017): the sum of the weights of the sample's categories,
/// the products of each two of their embeddings, and a perceptron over the embeddings side by side. A pass changes few
/// rows of the table: the gradient of all others is zero.
class ClickModel {
 public:
  /// `batch` is the most samples of a pass.
  ClickModel(const ClickModelShape& shape, std::size_t batch);

  /// Draws embeddings and the perceptron's weights, and clears all else.
  void initialise(std::uint64_t seed);

  /// The table, by rows, and its gradient, which table_gradient() fills.
  std::vector<float>& table() { return table_; }
  const std::vector<float>& table() const { return table_; }
  std::vector<float>& gradient() { return gradient_; }
  Perceptron& perceptron() { return perceptron_; }
  const Perceptron& perceptron() const { return perceptron_; }

  /// Returns the log-odds of samples, whose rows of the table are given one sample after another. The rows must stay
  /// until table_gradient() has ended.
  std::span<const float> forward(std::span<const std::uint32_t> rows);
  /// Fills the gradient of the mean logistic loss by the perceptron's parameters.
  void perceptron_gradient(std::span<const std::uint8_t> labels);
  /// Fills the gradient by the table. perceptron_gradient() comes before.
  void table_gradient();
  /// Fills the gradient by the rows that the samples have, one sample after another, instead of that by the table. A
  /// row that several samples have comes several times, and its gradient is the sum. perceptron_gradient() comes
  /// before.
  std::span<const float> row_gradients();
  /// Says for each row whether it was in the last pass with a gradient: 1 or 0.
  const std::vector<std::uint8_t>& touched() const { return touched_; }

 private:
  std::size_t embedding() const { return shape_.width - 1; }
  template <class GradientOf>
  void add_gradients(const GradientOf& gradient_of);

  ClickModelShape shape_;
  Perceptron perceptron_;
  std::vector<float> table_, gradient_, row_gradients_;
  std::vector<std::uint8_t> touched_;
  std::span<const std::uint32_t> rows_;
  std::vector<float> log_odds_, delta_;
  std::vector<float> sums_;  // of the embeddings of each sample
  std::span<const float> by_inputs_;
};

}  // namespace lacuna::workloads
