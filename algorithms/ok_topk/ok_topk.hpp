#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithms/phases/message_format.hpp"
#include "runtime/method/option.hpp"
#include "runtime/values/method_options.hpp"

namespace lacuna {

/// The k largest sums, or about these, of what ranks have selected, about k elements each (Li, Hoefler: Near-optimal
/// sparse allreduce for distributed deep learning, PPoPP 2022). What a rank has sent and what is in the result it has
/// contributed; all else, also sums that cancel to 0, stays in its residual. For sum and avg of floating-point data of
/// at most 2^32 - 1 elements; needs a state. A zero is never sent; a NaN is larger than all else.
///
/// Every tau_prime runs both selections are exact. In between a rank selects by a threshold, which follows what its
/// runs have told, and the ranks agree on how many of its sums each of them brings to the result. A rank makes its
/// threshold anew where it has taken a third of k too few or too many, and for other numbers of entries or ranks. It
/// never sends more than a third too many: of the range that does not fit, and of those after it, it sends the largest
/// only. After a call that has failed states are not equal any more: restore them on all ranks. options.def says what
/// its members mean. Equal on all ranks.
struct OkTopk {
  static constexpr double most_places = 4294967295.0;
  static constexpr double most_runs = 1e15;

#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/ok_topk/options.def"
#undef LACUNA_OPTION
};

/// For Options::method.
MethodOptions ok_topk(const OkTopk& options);

extern const Method ok_topk_method;

}  // namespace lacuna
