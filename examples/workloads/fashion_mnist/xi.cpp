#include "examples/workloads/fashion_mnist/xi.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "examples/workloads/fashion_mnist/averages.hpp"
#include "examples/workloads/fashion_mnist/training.hpp"

namespace lacuna::workloads {
namespace {

/// Adds `factor` times an array of the state, if the state has it.
void add(const MethodState& state, std::string_view name, float factor, std::vector<float>& to) {
  const StateArray* array = state.find(name);
  if (!array) return;
  std::vector<float> values(array->count());
  std::memcpy(values.data(), array->bytes.data(), array->bytes.size());
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * values[i];
}

/// Sets all values to zero except for the `entries` largest. Of equal values the first stay.
void keep_largest(std::vector<float>& values, std::size_t entries) {
  if (entries >= values.size()) return;
  std::vector<float> magnitudes(values.size());
  std::transform(values.begin(), values.end(), magnitudes.begin(), [](float value) { return std::abs(value); });
  const auto last = magnitudes.begin() + static_cast<std::ptrdiff_t>(entries);
  std::nth_element(magnitudes.begin(), last, magnitudes.end(), std::greater<>());
  const float border = *last;
  const auto larger = static_cast<std::size_t>(
      std::count_if(magnitudes.begin(), last, [&](float magnitude) { return magnitude > border; }));
  std::size_t equal = entries - larger;  // that many of the values equal to the border stay
  for (float& value : values) {
    const float magnitude = std::abs(value);
    const bool is_equal = magnitude == border, stays = magnitude > border || (is_equal && equal > 0);
    if (stays && is_equal) --equal;
    if (!stays) value = 0;
  }
}

}  // namespace

void Xi::begin(std::size_t number, const MethodOptions& method, const MethodState& state,
               std::span<const float> input) {
  if (tensors_.size() <= number) tensors_.resize(number + 1);
  Tensor& one = tensors_[number];
  one.accumulated = one.input = {input.begin(), input.end()};
  add(state, "residual", 1, one.accumulated);
  add(state, "velocity", static_cast<float>(momentum_of(method)), one.accumulated);
}

void Xi::end(std::size_t number, std::span<const float> average, std::size_t entries) {
  tensors_[number].average = {average.begin(), average.end()};
  tensors_[number].entries = entries;
}

Result<double> Xi::measure(Communicator& ranks) const {
  double difference = 0, dense = 0;
  for (Tensor one : tensors_) {
    for (auto* values : {&one.accumulated, &one.input}) {
      if (Status done = ranks.call(allreduce<float>(*values, *values, Reduction::Avg)); !done) return done;
    }
    keep_largest(one.accumulated, one.entries);
    for (std::size_t i = 0; i < one.average.size(); ++i) one.accumulated[i] -= one.average[i];
    difference += squared_norm(one.accumulated);
    dense += squared_norm(one.input);
  }
  return dense > 0 ? std::sqrt(difference / dense) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace lacuna::workloads
