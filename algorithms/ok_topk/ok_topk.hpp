#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithms/phases/message_format.hpp"
#include "runtime/values/method_options.hpp"
#include "runtime/values/option.hpp"

namespace lacuna {

/// Each rank selects about k elements, and the result has about the k largest sums of what all ranks have selected (Li,
/// Hoefler: Near-optimal sparse allreduce for distributed deep learning, PPoPP 2022). An element that a rank has sent
/// and that is in the result counts as contributed. All else stays in the rank's residual, sums that cancel to 0 too.
/// It serves sum and avg of floating-point data of at most 2^32 - 1 elements, and needs a state. A zero is never sent.
/// A NaN counts as larger than any number.
///
/// In every tau_prime-th run both selections, of elements and of sums, are exact. In the other runs a rank selects by a
/// threshold, which it adapts from run to run, and the ranks agree on how many of its sums each of them brings to the
/// result. A rank computes its threshold anew if the last run took too few or too many elements, by a third of k or
/// more, and if k or the number of ranks changes. It never sends more than k elements and a third: where the threshold
/// takes more, it sends only the largest elements of the range that has no room, and of the ranges after it. After a
/// failed call the states of the ranks differ: restore them on all ranks. options.def says what the members mean. All
/// ranks give the same options.
struct OkTopk {
  static constexpr double most_places = 4294967295.0;
  static constexpr double most_runs = 1e15;

#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/ok_topk/options.def"
#undef LACUNA_OPTION
};

/// Makes Options::method of these options.
MethodOptions ok_topk(const OkTopk& options);

extern const Method ok_topk_method;

}  // namespace lacuna
