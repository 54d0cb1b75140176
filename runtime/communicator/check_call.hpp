#pragma once

#include "runtime/values/call.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Returns ok, or what is wrong with the root, reduction, tables or buffers of this call at `rank` of `size`.
Status check_call(const Call& call, Rank rank, Rank size);

/// Is the call in place? It is if this rank has both buffers, and the smaller one lies in the larger one at the place
/// of this rank's block.
bool is_in_place(const Call& call, Rank rank);

}  // namespace lacuna::runtime
