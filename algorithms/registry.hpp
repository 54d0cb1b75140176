#pragma once

#include <span>
#include <string_view>

#include "runtime/algorithm.hpp"

namespace lacuna {

/// All algorithms, in the order of manifest.def.
std::span<const Algorithm* const> all_algorithms();

/// The algorithm that serves this call on `size` ranks: the named one, or by size where none is named. An error names
/// what was asked for and what there is.
Result<const Algorithm*> select_algorithm(const Call& call, Rank size);

}  // namespace lacuna
