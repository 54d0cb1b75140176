#include "algorithms/selection.hpp"

#include <array>
#include <bit>

namespace lacuna {
namespace {

// Measured on two ranks over shared memory and on four emulated hosts with links of 1 Gbit/s (docs/performance.md).
constexpr std::array table = {
    Preference{Collective::Allreduce, 16 << 10, false, "recursive_doubling",
               "so little that the number of steps counts"},
    Preference{Collective::Allreduce, 256 << 10, true, "halving_doubling", "the ring's bytes in fewer steps"},
};

}  // namespace

const Preference* preference(const Call& call, Rank size) {
  const std::size_t bytes = call.count * size_of(call.dtype);
  for (const Preference& row : table) {
    if (row.collective != call.collective || bytes > row.up_to_bytes) continue;
    if (!row.powers_of_two || std::has_single_bit(static_cast<unsigned>(size))) return &row;
  }
  return nullptr;
}

}  // namespace lacuna
