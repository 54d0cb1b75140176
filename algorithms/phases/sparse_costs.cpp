#include "algorithms/phases/sparse_costs.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/phases/sparse_kernels.hpp"

namespace lacuna::sparse {

double expected_message_bytes(const ExpectedPart& part, double entries, double places) {
  const Dtype dtype = part.call.dtype;
  const auto length = static_cast<std::size_t>(places);
  const auto bytes = [&](double count) {
    const std::size_t whole = std::min(static_cast<std::size_t>(count), length);
    const kernels::Format format = format_of(part.plan.structure.parameters.as<Form>(), dtype, whole, length);
    return static_cast<double>(kernels::message_bytes(format, dtype, whole, length));
  };
  const double below = std::floor(entries);
  return std::lerp(bytes(below), bytes(below + 1), entries - below);
}

double histogram_bytes(const ExpectedPart& part) {
  const double words = 2.0 * part.plan.structure.parameters.as<Form>().bins, rounds = 2.0 * (part.size - 1);
  return rounds / part.size * words * static_cast<double>(sizeof(std::int64_t));
}

}  // namespace lacuna::sparse
