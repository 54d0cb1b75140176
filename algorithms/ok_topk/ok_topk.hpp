#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithms/phases/message_format.hpp"
#include "runtime/method/option.hpp"
#include "runtime/values/method_options.hpp"

namespace lacuna {

/// The about k largest sums of what ranks have selected, about k each, for at most 6k(P-1)/P words of 4 bytes (Li,
/// Hoefler: Near-optimal sparse allreduce for distributed deep learning, PPoPP 2022). What a rank has sent and what is
/// in the result it has contributed; all else, also sums that cancel to 0, stays in its residual. For sum and avg of
/// floating-point data of at most 2^32 - 1 elements; needs a state. A zero is never sent; a NaN is larger than all
/// else. options.def says what its members mean. Equal on all ranks.
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
