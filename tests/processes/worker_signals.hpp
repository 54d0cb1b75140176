#pragma once

#include "runtime/values/status.hpp"

namespace lacuna::test {

/// Returns Ok if every thread of this process but the calling one blocks all signals that can be blocked, and if there
/// are at least `threads` other threads.
Status find_signals_blocked(std::size_t threads);

}  // namespace lacuna::test
