#pragma once

#include "runtime/values/status.hpp"

namespace lacuna::test {

/// Ok if all signals that can be blocked are blocked in every thread of this process but the calling one, and if there
/// are `threads` others at least.
Status find_signals_blocked(std::size_t threads);

}  // namespace lacuna::test
