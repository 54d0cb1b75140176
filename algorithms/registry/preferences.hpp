#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/graph/algorithm.hpp"

namespace lacuna {

/// A row of the table by which lacuna chooses an algorithm where the caller names neither an algorithm nor a method.
/// The first row that fits counts. If none fits, the collective's first algorithm in manifest.def is taken.
struct Preference {
  const Algorithm* algorithm;
  std::size_t up_to_bytes;  ///< count times element size
  enum class Where : std::uint8_t {
    Anywhere,
    PowersOfTwo,  ///< the number of ranks is one
    EvenHosts,    ///< several hosts have the same number of ranks, more than one
    Board,        ///< all ranks share a board
    CrowdedHost,  ///< more than four ranks are on one host, which has fewer processors than ranks
    LongPieces,   ///< all ranks are on one host, and have pieces that pay for being read in place
    PairOnHost,   ///< two ranks are on one host
  } where;
  std::string_view reason;
};

/// Says where such a row fits, to follow "any size". The text begins with a blank, or is empty.
std::string_view text_of(Preference::Where where);

/// Returns the row that fits the call, or null if none does.
const Preference* preference(const Call& call, const Hosts& hosts);

}  // namespace lacuna
