#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/phases/feedback.hpp"
#include "tests/conformance/calls.hpp"
#include "tests/conformance/fault.hpp"
#include "tests/conformance/properties.hpp"

namespace lacuna::conformance {
namespace {

constexpr std::size_t elements = 100;
constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

/// What one rank brings to one call.
struct Bad {
  double value;
  std::size_t first, count;  ///< the elements that have it
};
constexpr Bad all_bad[] = {
    {nan, 0, elements}, {infinity, 0, elements}, {-infinity, 0, 1}, {nan, 57, 1}, {infinity, elements - 1, 1}};

bool is_finite(const Numbers& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double value) { return std::isfinite(value); });
}

/// All arrays that are as long as the data: residuals, velocities.
bool is_finite(const MethodState& state) {
  return std::all_of(state.arrays.begin(), state.arrays.end(), [](const StateArray& array) {
    if (array.dtype != Dtype::F64 || array.count() != elements) return true;
    Numbers numbers(elements);
    array.bytes.copy_to(reinterpret_cast<std::byte*>(numbers.data()));
    return is_finite(numbers);
  });
}

std::vector<Numbers> inputs_of(Rank size, const Bad& bad, Rank from) {
  std::vector<Numbers> inputs(static_cast<std::size_t>(size), Numbers(elements, 1));
  const auto first = inputs[static_cast<std::size_t>(from)].begin() + static_cast<std::ptrdiff_t>(bad.first);
  std::fill_n(first, bad.count, bad.value);
  return inputs;
}

void check_not_finite(const Example& example, const Bad& bad) {
  const Rank size = example.size(), from = 1 % size;
  const std::string text = fmt::format("{}, {} elements of rank {} are {}", example.text, bad.count, from, bad.value);
  Calls calls(size, test::drawn_options(1), elements);
  calls.call_on(example, inputs_of(size, {}, 0));
  calls.call_on(example, inputs_of(size, bad, from));
  for (std::size_t rank = 0; rank < calls.ranks(); ++rank) {
    const bool keeps = !calls.residual(rank).empty();
    demand(!keeps || !is_finite(calls.outputs.back()[rank]), "{}: the result of rank {} does not tell it", text, rank);
    demand(is_finite(calls.states[rank]), "{}: the state of rank {} has kept it", text, rank);
  }
  for (int later = 1; later <= 2; ++later) {
    calls.call_on(example, inputs_of(size, {}, 0));
    const bool finite = std::all_of(calls.outputs.back().begin(), calls.outputs.back().end(),
                                    [](const Numbers& output) { return is_finite(output); });
    demand(finite, "{}: it is in a result {} calls later", text, later);
  }
}

}  // namespace

void forgets_what_is_not_finite(const Method& method) {
  for (Rank size = 1; size <= 5; ++size) {
    for (const Example& example : written_examples_of(method, size, elements)) {
      for (const Bad& bad : all_bad) check_not_finite(example, bad);
    }
  }
}

}  // namespace lacuna::conformance
