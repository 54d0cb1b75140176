#pragma once

#include <cmath>

#include "algorithms/ok_topk/steps.hpp"
#include "algorithms/phases/sparse_kernels.hpp"

/// For the kernels of ok_topk.
namespace lacuna::ok {

Region threshold_room(GraphBuilder& g, std::string_view name);
/// Not a number where it was made for other calls than those of so many entries, ranks and of this reduction.
double load_threshold(const std::byte* array, const Call& call, Rank size);
inline double load_threshold(const Extent& array, const PartView& part) {
  return load_threshold(array.data, part.call, part.size);
}
void store_threshold(const Extent& array, const PartView& part, double threshold);

/// Above which elements lie that the cut takes, as a number for later calls: just below its ties, of which none is to
/// be lost.
double threshold_of(Dtype dtype, const kernels::Cut& cut);
kernels::Cut cut_above(Dtype dtype, double threshold);

/// Elements that each rank is to send.
std::size_t entries_asked(const Call& call, Rank size);
inline std::size_t entries_asked(const PartView& part) { return entries_asked(part.call, part.size); }

/// Numbers only: others would stay in counters that are added up.
template <class AnyMeasure>
void report(const KernelCall& call, AnyMeasure measure, double value) {
  if (std::isfinite(value)) call.counted.numbers[static_cast<std::size_t>(measure)] += value;
}

}  // namespace lacuna::ok
