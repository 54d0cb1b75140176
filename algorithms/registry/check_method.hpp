#pragma once

#include "runtime/method/method.hpp"

namespace lacuna {

/// Returns ok, or why nobody could use this method: its description lacks something, it has no example that works on 4
/// ranks, or the graphs of an example do not fit together (verify()) on 1 to `most` ranks. It checks the graphs of
/// three calls in a row, in place and not, and those of parts that follow others.
Status check_method(const Method& method, Rank most);

}  // namespace lacuna
