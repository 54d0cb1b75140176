#include "algorithms/ok_topk/threshold.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/elements.hpp"

namespace lacuna::ok {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr double least_factor = 0.25;  // from one run to the next, the threshold falls to no less than this share
constexpr double weight = 0.2;         // of the last run, in the mean of how many new elements come

std::size_t words_of_threshold(const PartView&) { return threshold_words; }

}  // namespace

OwnThreshold::OwnThreshold(const std::byte* array, std::uint64_t k, Rank size) {
  std::memcpy(words_.data(), array, sizeof(words_));
  const auto all = static_cast<double>(k), terms = static_cast<double>(size);
  if (words_[entries] != all || words_[ranks] != terms) words_ = {unknown, all, terms, unknown, unknown};
}

bool OwnThreshold::is_known() const { return !std::isnan(words_[threshold]); }

void OwnThreshold::make(double exactly) {
  words_[threshold] = exactly;
  words_[staying] = unknown;
}

void OwnThreshold::forget() { words_[threshold] = words_[staying] = unknown; }

void OwnThreshold::count_arrivals(double taken) {
  if (std::isnan(words_[staying])) return;
  const double arrived = taken - words_[staying];
  double& mean = words_[arriving];
  mean = std::isnan(mean) ? arrived : mean + weight * (arrived - mean);
}

void OwnThreshold::move(const kernels::Backend& backend, const Selected& run, std::byte* workspace) {
  const auto taken = static_cast<double>(run.values.count);
  count_arrivals(taken);
  if (!is_known()) return;
  words_[staying] = taken - static_cast<double>(run.gone);
  if (std::isnan(words_[arriving]) || taken == 0) return;
  const auto largest = [&](double many) {
    kernels::Cut cut;
    backend.largest(run.values, static_cast<std::uint64_t>(many), workspace, &cut);
    return threshold_of(run.values.dtype, cut) / run.factor;
  };
  const double too_many =
      std::clamp(std::round(words_[staying] + words_[arriving] - words_[entries]), 1 - taken, taken - 1);
  const double as_close = largest(taken - std::abs(too_many));
  if (too_many > 0) {
    words_[threshold] = as_close;
    words_[staying] = std::max(words_[staying] - too_many, 0.0);
  } else if (too_many < 0) {
    words_[threshold] = std::max(2 * words_[threshold] - as_close, least_factor * words_[threshold]);
  }
}

void OwnThreshold::store(std::byte* array) const { std::memcpy(array, words_.data(), sizeof(words_)); }

Region threshold_room(GraphBuilder& g) {
  return g.buffer({.role = Role::State,
                   .element = Dtype::F64,
                   .capacity = words_of_threshold,
                   .name = local_threshold,
                   .own = true,
                   .memory = MemoryKind::Host});
}

double threshold_of(Dtype dtype, const kernels::Cut& cut) {
  return kernels::number_of_magnitude(dtype, cut.above - (cut.ties > 0 ? 1 : 0));
}

kernels::Cut cut_above(Dtype dtype, double threshold) {
  const double all_below_nan = std::isnan(threshold) ? std::numeric_limits<double>::infinity() : threshold;
  return {.above = kernels::magnitude_of(dtype, all_below_nan)};
}

}  // namespace lacuna::ok
