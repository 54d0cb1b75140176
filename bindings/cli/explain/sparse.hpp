#pragma once

#include <optional>

#include "bindings/cli/explain/explain.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::cli {

/// What an algorithm is expected to cost whose messages have lengths that depend on the data.
struct SparseCost {
  double entries = 0;        ///< of each rank, at most
  double result = 0;         ///< entries of the result
  double bytes = 0;          ///< sent by a rank, on average
  double path_bytes = 0;     ///< carried one after another by the longest chain
  double dense_bytes = 0;    ///< sent by a rank in the dense call
  double dense_density = 0;  ///< from which share of its elements that each rank sends on, the dense call sends less
  int steps = 0, dense_steps = 0;
  bool drops = false;  ///< the result lacks sums, which are sent later
};

/// Predicts the cost of a call that the method takes. Returns nothing if neither graphs nor predictions tell it.
std::optional<SparseCost> sparse_cost(const ExplainOptions& options, const Call& call, const MethodAlgorithm& one);

/// Can any algorithm of the method tell what it is expected to send?
bool expects_bytes(const Method& method);

}  // namespace lacuna::cli
