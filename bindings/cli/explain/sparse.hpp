#pragma once

#include <optional>

#include "bindings/cli/explain/explain.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::cli {

/// What an algorithm whose messages are as long as the data say is expected to cost.
struct SparseCost {
  double entries = 0;        ///< of each rank, at most
  double result = 0;         ///< entries of the result
  double bytes = 0;          ///< that a rank sends, on average
  double path_bytes = 0;     ///< that follow one another
  double dense_bytes = 0;    ///< that it would send in the dense call
  double dense_density = 0;  ///< of what each rank sends, from which on the dense call sends less
  int steps = 0, dense_steps = 0;
  bool drops = false;  ///< the result lacks sums, which are sent later
};

/// Of a call that the method takes; nothing where graphs or no one can tell.
std::optional<SparseCost> sparse_cost(const ExplainOptions& options, const Call& call, const MethodAlgorithm& one);

/// The table of all algorithms that serve the method of this call; `taken` is marked.
void show_sparse(const ExplainOptions& options, const Call& call, const Algorithm* taken);

/// Can any of those that serve it tell what it is expected to send?
bool expects_bytes(const Method& method);

}  // namespace lacuna::cli
