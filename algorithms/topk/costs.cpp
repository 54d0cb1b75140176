#include <algorithm>
#include <bit>
#include <cmath>

#include "algorithms/phases/sparse_costs.hpp"
#include "algorithms/topk/selecting.hpp"

namespace lacuna {
namespace {

using sparse::expected_message_bytes;

sparse::Form form_of(const PartPlan& part) { return part.structure.parameters.as<sparse::Form>(); }

/// The largest power of two that is at most `size`.
Rank largest_cube(Rank size) { return static_cast<Rank>(std::bit_floor(static_cast<unsigned>(size))); }
/// The logarithm of that power of two.
int dimensions_of_cube(Rank size) { return std::bit_width(static_cast<unsigned>(size)) - 1; }

}  // namespace

double sparse_allgather_bytes(const ExpectedPart& part) {
  return (part.size - 1) * expected_message_bytes(part, part.entries, part.places);
}

double sparse_reduce_scatter_bytes(const ExpectedPart& part) {
  return (part.size - 1) * expected_message_bytes(part, part.entries / part.size, part.places / part.size);
}

/// If ranges are balanced, a histogram is reduced first.
double sparse_split_bytes(const ExpectedPart& part) {
  const double others = part.size - 1, all = part.entries_of(part.size) / part.size;
  return sparse::histogram_bytes(part) + sparse_reduce_scatter_bytes(part) +
         others * expected_message_bytes(part, all, part.places / part.size);
}

/// A rank sends sums of 1 .. P-1 ranks, and then the result P-1 times.
double sparse_ring_bytes(const ExpectedPart& part) {
  const sparse::Form form = form_of(part.plan);
  const double chunks = form.chunks, pieces = part.size * chunks;
  const double most = std::ceil(part.entries / part.size) / chunks;
  const auto message = [&](Rank ranks) {
    const double entries = part.entries_of(ranks) / pieces;
    return expected_message_bytes(part, form.capped ? std::min(entries, most) : entries, part.places / pieces);
  };
  double bytes = (part.size - 1) * message(part.size);
  for (Rank ranks = 1; ranks < part.size; ++ranks) bytes += message(ranks);
  return chunks * bytes;
}

/// Between each rank but the root and its parent, one message goes up and one comes down.
double gtopk_bytes(const ExpectedPart& part) {
  return 2 * (part.size - 1) * expected_message_bytes(part, part.entries, part.places) / part.size;
}

/// As many messages follow one another as the tree has levels, on the way up and again on the way down.
double gtopk_path_bytes(const ExpectedPart& part) {
  return 2 * std::ceil(std::log2(part.size)) * expected_message_bytes(part, part.entries, part.places);
}

/// The entries of a result whose messages may be capped.
double capped_entries(const ExpectedPart& part) {
  return form_of(part.plan).capped ? part.entries : part.entries_of(part.size);
}

/// Within the hypercube, a sum has the entries of twice as many ranks after each round. A rank outside of it sends its
/// entries to a rank inside, and gets the result from there.
double sparse_doubling_bytes(const ExpectedPart& part) {
  const Rank cube = largest_cube(part.size);
  const auto message = [&](double ranks) { return expected_message_bytes(part, part.entries_of(ranks), part.places); };
  double bytes = (part.size - cube) * (message(1) + message(part.size));
  for (Rank ranks = 1; ranks < cube; ranks *= 2) {
    bytes += cube * message(static_cast<double>(ranks) * part.size / cube);
  }
  return bytes / part.size;
}

/// All messages of an exchange are sent at once.
int exchange_rounds(const PartPlan&, Rank size) { return size > 1 ? 1 : 0; }

/// The sums of ranges are exchanged after the selections.
int sparse_split_rounds(const PartPlan& part, Rank size) {
  const bool balanced = form_of(part).bins > 0;
  return 2 * exchange_rounds(part, size) + (balanced ? sparse::partition_rounds(size) : 0);
}

int sparse_ring_rounds(const PartPlan&, Rank size) { return 2 * (size - 1); }

/// Ranks outside of the hypercube send before its first round, and receive after its last. The partners of two such
/// ranks are as many rounds apart as bits differ in their numbers.
int sparse_doubling_rounds(const PartPlan&, Rank size) {
  const int dimensions = dimensions_of_cube(size);
  const Rank outside = size - largest_cube(size);
  if (outside == 0) return dimensions;
  return std::max(dimensions + 1, static_cast<int>(std::bit_width(static_cast<unsigned>(outside - 1))) + 2);
}

/// The longest way to the root of a binomial tree is as long as the dimensions of the largest hypercube in it.
int gtopk_rounds(const PartPlan&, Rank size) { return 2 * dimensions_of_cube(size); }

}  // namespace lacuna
