#include "examples/workloads/embeddings/click_model.hpp"

#include <algorithm>
#include <cmath>

#include "examples/workloads/fashion_mnist/random.hpp"

namespace lacuna::workloads {
namespace {

constexpr std::uint64_t table_stream = std::uint64_t{1} << 33;  // epochs and layers use the streams below
constexpr float largest_at_first = 0.05F;

std::vector<std::size_t> widths_of(const ClickModelShape& shape) {
  std::vector<std::size_t> widths = {shape.fields * (shape.width - 1)};
  widths.insert(widths.end(), shape.hidden.begin(), shape.hidden.end());
  return widths;
}

}  // namespace

ClickModel::ClickModel(const ClickModelShape& shape, std::size_t batch)
    : shape_(shape),
      perceptron_(widths_of(shape), batch),
      table_(shape.rows * shape.width),
      gradient_(table_.size()),
      touched_(shape.rows),
      log_odds_(batch),
      delta_(batch),
      sums_(batch * (shape.width - 1)) {}

void ClickModel::initialise(std::uint64_t seed) {
  perceptron_.initialise(seed);
  SplitMix random(seed, table_stream);
  for (std::size_t i = 0; i < table_.size(); ++i) {
    table_[i] = i % shape_.width == 0 ? 0.0F : largest_at_first * random.signed_unit();
  }
  std::fill(touched_.begin(), touched_.end(), std::uint8_t{0});
}

std::span<const float> ClickModel::forward(std::span<const std::uint32_t> rows) {
  rows_ = rows;
  const std::size_t samples = rows.size() / shape_.fields;
  std::fill(sums_.begin(), sums_.end(), 0.0F);
  float* input = perceptron_.inputs().data();
  for (std::size_t i = 0; i < samples; ++i) {
    float* sums = sums_.data() + i * embedding();
    float odds = 0, squares = 0;
    for (const std::uint32_t row : rows.subspan(i * shape_.fields, shape_.fields)) {
      const float* numbers = table_.data() + row * shape_.width;
      odds += numbers[0];
      for (std::size_t j = 0; j < embedding(); ++j) {
        const float number = *input++ = numbers[1 + j];
        sums[j] += number;
        squares += number * number;
      }
    }
    float squared_sums = 0;
    for (std::size_t j = 0; j < embedding(); ++j) squared_sums += sums[j] * sums[j];
    log_odds_[i] = odds + (squared_sums - squares) / 2;
  }
  const std::span<const float> outputs = perceptron_.forward(samples);
  for (std::size_t i = 0; i < samples; ++i) log_odds_[i] += outputs[i];
  return std::span(log_odds_).first(samples);
}

void ClickModel::perceptron_gradient(std::span<const std::uint8_t> labels) {
  const std::size_t samples = rows_.size() / shape_.fields;
  for (std::size_t i = 0; i < samples; ++i) {
    const float chance = 1 / (1 + std::exp(-log_odds_[i]));
    delta_[i] = (chance - static_cast<float>(labels[i])) / static_cast<float>(samples);
  }
  by_inputs_ = perceptron_.backward(std::span(delta_).first(samples));
}

void ClickModel::table_gradient() {
  std::fill(gradient_.begin(), gradient_.end(), 0.0F);
  add_gradients([&](std::size_t k) { return gradient_.data() + rows_[k] * shape_.width; });
}

std::span<const float> ClickModel::row_gradients() {
  row_gradients_.assign(rows_.size() * shape_.width, 0.0F);
  add_gradients([&](std::size_t k) { return row_gradients_.data() + k * shape_.width; });
  return row_gradients_;
}

/// Adds the gradient of each row of the samples to the numbers that gradient_of(its place among them) points to.
template <class GradientOf>
void ClickModel::add_gradients(const GradientOf& gradient_of) {
  std::fill(touched_.begin(), touched_.end(), std::uint8_t{0});
  const float* by_input = by_inputs_.data();
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const std::size_t row = rows_[k], sample = k / shape_.fields;
    const float delta = delta_[sample];
    const float* sums = sums_.data() + sample * embedding();
    const float* numbers = table_.data() + row * shape_.width;
    float* gradient = gradient_of(k);
    touched_[row] = 1;
    gradient[0] += delta;
    for (std::size_t j = 0; j < embedding(); ++j) {
      gradient[1 + j] += delta * (sums[j] - numbers[1 + j]) + *by_input++;
    }
  }
}

}  // namespace lacuna::workloads
