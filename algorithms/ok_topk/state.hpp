#pragma once

#include <cmath>

#include "algorithms/ok_topk/steps.hpp"
#include "algorithms/ok_topk/threshold.hpp"
#include "algorithms/phases/sparse_kernels.hpp"

/// This file serves the kernels of ok_topk.
namespace lacuna::ok {

inline OwnThreshold threshold_in(const Extent& array, const PartView& part) {
  return {array.data, sparse::arguments_of(part).wanted, part.size};
}

inline std::size_t most_by_threshold(const PartView& part) {
  return most_by_threshold(sparse::arguments_of(part).wanted, sparse::places_of(part));
}

/// Adds a value to the report, but no infinity and no NaN, because a counter would keep one of these for ever.
inline void report(const KernelCall& call, const Measure& measure, double value) {
  if (std::isfinite(value)) call.measures.tell(measure, value);
}

}  // namespace lacuna::ok
