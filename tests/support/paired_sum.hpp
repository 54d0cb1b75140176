#pragma once

#include <cstdint>

#include "runtime/graph/algorithm.hpp"
#include "runtime/values/method_options.hpp"

namespace lacuna::test {

/// The options of a method for tests: an allreduce of floats on two ranks. A rank adds the first and the last elements
/// of the other rank's data to its own. These come in two messages, whose lengths only the two ranks know, and which
/// arrive at disjoint places of one buffer.
struct PairedSum {
  struct Lengths {
    std::uint64_t first = 0, last = 0;  ///< the sum of both is at most the call's count
  };
  Lengths of[2];  ///< what each rank sends
};

MethodOptions paired_sum(const PairedSum& lengths);
/// The algorithm that serves calls with this method.
extern const Algorithm paired_sum_algorithm;

}  // namespace lacuna::test
