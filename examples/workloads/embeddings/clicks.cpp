#include "examples/workloads/embeddings/clicks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "examples/workloads/fashion_mnist/random.hpp"

namespace lacuna::workloads {
namespace {

constexpr std::uint64_t truth_stream = ~std::uint64_t{0};  // samples use the streams below
// With these two factors, the weights and the products of eight fields each change the log-odds by about 1.
constexpr float weight_scale = 0.6F, vector_scale = 0.5F;

double unit(SplitMix& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

}  // namespace

ClickSource::ClickSource(const std::vector<std::size_t>& vocabularies, std::uint64_t seed) : seed_(seed) {
  std::size_t rows = 0;
  for (const std::size_t size : vocabularies) {
    Field& field = fields_.emplace_back();
    field.first_row = rows;
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) field.up_to.push_back(sum += 1 / static_cast<double>(i + 1));
    rows += size;
  }
  SplitMix random(seed, truth_stream);
  weights_.resize(rows);
  vectors_.resize(rows * factors);
  for (float& weight : weights_) weight = weight_scale * random.signed_unit();
  for (float& number : vectors_) number = vector_scale * random.signed_unit();
}

Clicks ClickSource::make(std::uint64_t first, std::size_t count) const {
  Clicks clicks{.fields = fields_.size()};
  clicks.rows.reserve(count * fields_.size());
  clicks.labels.reserve(count);
  for (std::uint64_t number = first; number < first + count; ++number) {
    SplitMix random(seed_, number);
    for (const Field& field : fields_) {
      const double drawn = unit(random) * field.up_to.back();
      const auto found = std::upper_bound(field.up_to.begin(), field.up_to.end() - 1, drawn);
      clicks.rows.push_back(static_cast<std::uint32_t>(field.first_row) +
                            static_cast<std::uint32_t>(found - field.up_to.begin()));
    }
    const double chance = 1 / (1 + std::exp(-log_odds(std::span(clicks.rows).last(fields_.size()))));
    clicks.labels.push_back(unit(random) < chance ? 1 : 0);
  }
  return clicks;
}

/// The products of each two vectors sum up to half of what the square of the sum has beside the sum of the squares.
double ClickSource::log_odds(std::span<const std::uint32_t> sample) const {
  std::array<double, factors> sums{};
  double odds = 0, squares = 0;
  for (const std::uint32_t row : sample) {
    odds += static_cast<double>(weights_[row]);
    for (std::size_t i = 0; i < factors; ++i) {
      const auto number = static_cast<double>(vectors_[row * factors + i]);
      sums[i] += number;
      squares += number * number;
    }
  }
  for (const double sum : sums) odds += sum * sum / 2;
  return odds - squares / 2;
}

}  // namespace lacuna::workloads
