#pragma once

#include "runtime/values/call.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Ok, or why this call can never work at `rank` of `size`: its root, reduction, tables or buffers.
Status check_call(const Call& call, Rank rank, Rank size);

/// Does this rank have both buffers, each where it belongs in the larger of them?
bool is_in_place(const Call& call, Rank rank);

}  // namespace lacuna::runtime
