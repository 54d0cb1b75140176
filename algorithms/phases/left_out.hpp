#pragma once

#include <cstddef>

namespace lacuna {

/// The integers of a Structure by which programs leave rounds out. What a round is, each program says.
inline constexpr std::size_t rounds_left_out = 0;  ///< the first ones of its reduction; of an allgather, the last
inline constexpr std::size_t gather_rounds_left_out = 1;  ///< the last ones of the allgather that ends an allreduce
inline constexpr std::size_t missing_is_kept = 2;         ///< not 0: what is not gathered stays as it is, else zeros

}  // namespace lacuna
