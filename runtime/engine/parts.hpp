#pragma once

#include <algorithm>
#include <bit>

#include "runtime/values/call.hpp"

namespace lacuna {

/// How many parts a call is cut into: a power of two of at most 64, from values equal on all ranks, so that the pieces
/// that travel come near to `chunk_bytes`.
inline std::uint32_t number_of_parts(const Call& call, Rank size, std::size_t chunk_bytes) {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (traits.lengths == Lengths::Told) return 1;
  std::size_t longest = call.count;
  if (traits.lengths == Lengths::Agreed) {
    longest = longest_of(traits.input == Holds::Blocks ? call.input_blocks : call.output_blocks);
  }
  const std::size_t pieces = call.collective == Collective::Allreduce ? static_cast<std::size_t>(size) : 1;
  const std::size_t piece_bytes = longest * size_of(call.dtype) / pieces;
  const std::size_t wanted = std::max<std::size_t>(piece_bytes / chunk_bytes, 1);
  return static_cast<std::uint32_t>(std::min<std::size_t>(std::bit_floor(wanted), 64));
}

}  // namespace lacuna
