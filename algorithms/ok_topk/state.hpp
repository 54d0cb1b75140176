#pragma once

#include "algorithms/ok_topk/steps.hpp"
#include "algorithms/phases/sparse_kernels.hpp"

/// For the kernels of ok_topk.
namespace lacuna::ok {

/// Arrays of one number each.
Region threshold_room(GraphBuilder& g, std::string_view name);
double load_threshold(const Extent& array);
void store_threshold(const Extent& array, double threshold);

/// Above which elements lie that the cut takes, as a number for later calls: just below its ties, of which none is to
/// be lost.
double threshold_of(Dtype dtype, const kernels::Cut& cut);
kernels::Cut cut_above(Dtype dtype, double threshold);

/// Elements of this part that each rank is to send.
std::size_t entries_asked(const PartView& part);

inline void report(const KernelCall& call, Measure measure, double value) {
  call.counted.numbers[static_cast<std::size_t>(measure)] += value;
}

}  // namespace lacuna::ok
