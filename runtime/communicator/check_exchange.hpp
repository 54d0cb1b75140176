#pragma once

#include "runtime/values/exchange.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Returns ok, or what is wrong with the lists or the tag of this exchange: their lengths, a direction, or two messages
/// of one name.
Status check_exchange(const Exchange& exchange);

/// Returns ok, or which two halos share memory that is written. All of them must lie in memory.
Status check_halos_apart(const Exchange& exchange);

}  // namespace lacuna::runtime
