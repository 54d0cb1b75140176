#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/values/method_options.hpp"
#include "runtime/values/option.hpp"

namespace lacuna {

/// Only blocks that are not zero travel, to the ranks that add them up, and the sums travel back (Fei, Ho, Sahu,
/// Canini, Sapio: Efficient sparse collective communication and its application to accelerate distributed deep
/// learning, SIGCOMM 2021: OmniReduce). A block has a fixed number of consecutive elements. It is zero if no element
/// has a bit that is not 0: -0 and NaN are not zero. It serves allreduce, reduce_scatter, allgather and broadcast, all
/// types of elements and all reductions. A block that a rank does not send counts as zeros. So results have the bits of
/// a reduction of all elements in the order of the ranks, which is carried out in the accumulation type and rounded
/// once.
///
/// With a threshold, small blocks stay behind. Then the elements must be of floating point, the reduction sum or avg,
/// and the collective allreduce or reduce_scatter; the call needs a state, which keeps what stays behind. options.def
/// says what the members mean. All ranks give the same options.
struct SparseBlocks {
  static constexpr double most_elements = 16777216;
  static constexpr double most_ranks = 1e6;
  static constexpr double most_magnitude = 1e300;

#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/blocks/options.def"
#undef LACUNA_OPTION
};

/// Makes Options::method of these options.
MethodOptions sparse_blocks(const SparseBlocks& options);

extern const Method blocks_method;

}  // namespace lacuna
