#include "examples/workloads/fashion_mnist/loss.hpp"

#include <algorithm>
#include <cmath>

namespace lacuna::workloads {

Score score(std::span<const float> outputs, std::span<const std::uint8_t> labels) {
  Score score;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::size_t width = outputs.size() / labels.size();
    const std::span<const float> row = outputs.subspan(i * width, width);
    const auto highest = std::max_element(row.begin(), row.end());
    float sum = 0;
    for (float value : row) sum += std::exp(value - *highest);
    score.loss += static_cast<double>(std::log(sum) - (row[labels[i]] - *highest));
    if (static_cast<std::size_t>(highest - row.begin()) == labels[i]) ++score.correct;
  }
  return score;
}

void loss_gradient(std::span<const float> outputs, std::span<const std::uint8_t> labels, float scale,
                   std::span<float> gradient) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::size_t width = outputs.size() / labels.size();
    const std::span<const float> row = outputs.subspan(i * width, width);
    const std::span<float> delta = gradient.subspan(i * width, width);
    const float highest = *std::max_element(row.begin(), row.end());
    float sum = 0;
    for (std::size_t j = 0; j < width; ++j) sum += delta[j] = std::exp(row[j] - highest);
    for (float& value : delta) value *= scale / sum;
    delta[labels[i]] -= scale;
  }
}

}  // namespace lacuna::workloads
