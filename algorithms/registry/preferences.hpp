#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/graph/algorithm.hpp"

namespace lacuna {

/// A row of the table by which lacuna chooses an algorithm where the caller names none, nor a method. The first row
/// that fits is taken; without one, the collective's first algorithm in manifest.def.
struct Preference {
  Collective collective;
  std::size_t up_to_bytes;  ///< count times element size
  enum class Where : std::uint8_t {
    Anywhere,
    PowersOfTwo,  ///< such a number of ranks
    EvenHosts,    ///< several, with the same number of ranks, more than one, on each
  } where;
  std::string_view algorithm;
  std::string_view reason;
};

/// Null if none fits, or if a method chooses.
const Preference* preference(const Call& call, const Hosts& hosts);

}  // namespace lacuna
