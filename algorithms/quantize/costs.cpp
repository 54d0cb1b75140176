#include "algorithms/quantize/steps.hpp"
#include "runtime/values/region.hpp"

namespace lacuna::quantizing {
namespace {

double bytes_of(const ExpectedPart& part, std::size_t elements) {
  return static_cast<double>(shape_of(part.call).message_bytes(elements));
}

/// What each rank sends on average if all pieces but its own go to their owners, and back.
double allreduce_bytes(const ExpectedPart& part) {
  const auto count = part.call.count, pieces = static_cast<std::size_t>(part.size);
  double all = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    all += bytes_of(part, boundary(i + 1, count, pieces) - boundary(i, count, pieces));
  }
  return 2.0 * (part.size - 1) / part.size * all;
}
double block_bytes(const ExpectedPart& part) { return (part.size - 1) * bytes_of(part, part.call.count); }

}  // namespace

constexpr Predictions of_allreduce = {.bytes = allreduce_bytes};
constexpr Predictions of_reduce_scatter = {.bytes = block_bytes};
constexpr Predictions of_allgather = {.bytes = block_bytes};

int rounds(const PartPlan&, Rank size) { return size == 1 ? 0 : 2; }
int half_rounds(const PartPlan&, Rank size) { return size == 1 ? 0 : 1; }

}  // namespace lacuna::quantizing
