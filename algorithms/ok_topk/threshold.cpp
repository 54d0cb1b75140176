#include "algorithms/ok_topk/threshold.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/elements.hpp"

namespace lacuna::ok {
namespace {

constexpr double least_factor = 0.25;  // from run to run: a trend must not lead below 0
constexpr double jump = 2;             // more than that is no trend

std::size_t words_of_threshold(const PartView&) { return threshold_words; }

}  // namespace

Threshold::Threshold(const std::byte* array, const Call& call, Rank size) {
  std::memcpy(words_.data(), array, sizeof(words_));
  const auto all = static_cast<double>(entries_asked(call, size));
  const auto terms = static_cast<double>(call.reduction == Reduction::Avg ? -size : size);
  if (words_[entries] != all || words_[ranks] != terms) words_ = {0, all, terms, 0, 0, 0};
  if (words_[age] == 0) forget();
}

bool Threshold::is_known() const { return !std::isnan(words_[threshold]); }

void Threshold::make(double exactly) {
  const double expected = words_[threshold];
  const bool goes_on = words_[exact] > 0 && exactly < jump * expected && exactly * jump > expected;
  words_[growth] = goes_on ? (exactly - words_[exact]) / words_[exact] / words_[age] : 0;
  words_[threshold] = words_[exact] = exactly;
  words_[age] = 1;
}

void Threshold::move(double taken, double gain) {
  const double off = std::clamp((taken - words_[entries]) / words_[entries], -1.0, 1.0);
  words_[growth] += gain / 4 * off;
  words_[threshold] *= std::max(1 + words_[growth] + gain * off, least_factor);
  words_[age] += 1;
}

void Threshold::forget() { words_[threshold] = std::numeric_limits<double>::quiet_NaN(); }

void Threshold::store(std::byte* array) const { std::memcpy(array, words_.data(), sizeof(words_)); }

Region threshold_room(GraphBuilder& g, std::string_view name) {
  return g.buffer({.role = Role::State,
                   .element = Dtype::F64,
                   .capacity = words_of_threshold,
                   .name = name,
                   .own = name == local_threshold});
}

double threshold_of(Dtype dtype, const kernels::Cut& cut) {
  return kernels::number_of_magnitude(dtype, cut.above - (cut.ties > 0 ? 1 : 0));
}

kernels::Cut cut_above(Dtype dtype, double threshold) {
  const double all_below_nan = std::isnan(threshold) ? std::numeric_limits<double>::infinity() : threshold;
  return {.above = kernels::magnitude_of(dtype, all_below_nan)};
}

}  // namespace lacuna::ok
