#include <bit>

#include "algorithms/cast/steps.hpp"

namespace lacuna::casting {
namespace {

/// The bytes of so many elements in messages.
double bytes_of(const ExpectedPart& part, double elements) {
  return elements * static_cast<double>(size_of(dtype_of(options_of(part.call).to)));
}

double others(const ExpectedPart& part) { return part.size - 1; }

double allreduce_bytes(const ExpectedPart& part) { return bytes_of(part, 2 * others(part) / part.size * part.places); }
double reduce_scatter_bytes(const ExpectedPart& part) { return bytes_of(part, others(part) / part.size * part.places); }
double allgather_bytes(const ExpectedPart& part) { return bytes_of(part, others(part) * part.places); }
double broadcast_bytes(const ExpectedPart& part) {
  return bytes_of(part, others(part) / part.size * static_cast<double>(part.call.count));
}
double broadcast_path(const ExpectedPart& part) {
  return bytes_of(part, tree_rounds(part.plan, part.size) * static_cast<double>(part.call.count));
}

}  // namespace

constexpr Predictions of_allreduce = {.bytes = allreduce_bytes};
constexpr Predictions of_reduce_scatter = {.bytes = reduce_scatter_bytes};
constexpr Predictions of_allgather = {.bytes = allgather_bytes};
constexpr Predictions of_broadcast = {.bytes = broadcast_bytes, .path_bytes = broadcast_path};

int rounds(const PartPlan&, Rank size) { return size == 1 ? 0 : 2; }
int half_rounds(const PartPlan&, Rank size) { return size == 1 ? 0 : 1; }
int tree_rounds(const PartPlan&, Rank size) { return std::bit_width(static_cast<unsigned>(size - 1)); }

}  // namespace lacuna::casting
