#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "examples/workloads/embeddings/click_model.hpp"

namespace lacuna::workloads {

/// The model for clicks by its definition, in f64 and plain loops. Gradients are differences of the loss, so that they
/// share nothing with the derivatives of the workload.
class NumericClicks {
 public:
  explicit NumericClicks(const ClickModelShape& shape) : shape_(shape) {
    widths_ = {shape.fields * (shape.width - 1)};
    widths_.insert(widths_.end(), shape.hidden.begin(), shape.hidden.end());
    widths_.push_back(1);
  }

  std::vector<double> table, perceptron;

  /// Returns the mean loss of samples, whose rows are given one sample after another.
  double loss(std::span<const std::uint32_t> rows, std::span<const std::uint8_t> labels) const {
    double sum = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const double odds = log_odds(rows.subspan(i * shape_.fields, shape_.fields));
      sum += std::log1p(std::exp(labels[i] == 1 ? -odds : odds));
    }
    return sum / static_cast<double>(labels.size());
  }

  double log_odds(std::span<const std::uint32_t> sample) const {
    double odds = 0;
    std::vector<double> values;
    for (std::size_t a = 0; a < sample.size(); ++a) {
      odds += table[sample[a] * shape_.width];
      for (std::size_t j = 1; j < shape_.width; ++j) {
        values.push_back(table[sample[a] * shape_.width + j]);
        for (std::size_t b = 0; b < a; ++b) odds += values.back() * table[sample[b] * shape_.width + j];
      }
    }
    const double* weights = perceptron.data();
    for (std::size_t l = 0; l + 1 < widths_.size(); ++l) {
      const std::size_t inputs = widths_[l], outputs = widths_[l + 1];
      std::vector<double> out(outputs);
      for (std::size_t j = 0; j < outputs; ++j) {
        out[j] = weights[inputs * outputs + j];
        for (std::size_t i = 0; i < inputs; ++i) out[j] += values[i] * weights[i * outputs + j];
        if (l + 2 < widths_.size()) out[j] = std::max(out[j], 0.0);
      }
      weights += (inputs + 1) * outputs;
      values = out;
    }
    return odds + values[0];
  }

  /// Returns how the mean loss changes with each of `parameters`, which are table or perceptron.
  std::vector<double> gradient(std::vector<double>& parameters, std::span<const std::uint32_t> rows,
                               std::span<const std::uint8_t> labels) const {
    constexpr double step = 1e-6;
    std::vector<double> all;
    for (double& parameter : parameters) {
      const double there = parameter;
      parameter = there + step;
      const double above = loss(rows, labels);
      parameter = there - step;
      all.push_back((above - loss(rows, labels)) / (2 * step));
      parameter = there;
    }
    return all;
  }

 private:
  ClickModelShape shape_;
  std::vector<std::size_t> widths_;
};

}  // namespace lacuna::workloads
