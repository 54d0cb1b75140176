#include "algorithms/registry/selection.hpp"

#include <array>
#include <bit>
#include <limits>

namespace lacuna {
namespace {

using Where = Preference::Where;
using Skips = Preference::Skips;

constexpr std::size_t any_size = std::numeric_limits<std::size_t>::max();

// Measured on two ranks over shared memory and on emulated hosts with links of 1 Gbit/s (docs/performance.md).
constexpr std::array table = {
    Preference{Collective::Allreduce, 16 << 10, Where::Anywhere, "recursive_doubling",
               "so little that the number of steps counts"},
    Preference{Collective::Allreduce, any_size, Where::EvenHosts, "two_level",
               "the least bytes and steps between hosts"},
    Preference{Collective::Allreduce, 256 << 10, Where::PowersOfTwo, "halving_doubling",
               "the ring's bytes in fewer steps"},
    Preference{Collective::Allreduce, any_size, Where::EvenHosts, "skip_two_level", "it skips between hosts only",
               Skips::ByRatio},
    Preference{Collective::Allreduce, any_size, Where::Anywhere, "skip_ring", "the call skips", Skips::Anything},
    Preference{Collective::ReduceScatter, any_size, Where::Anywhere, "skip_ring", "the call skips", Skips::Anything},
    Preference{Collective::Allgather, any_size, Where::Anywhere, "skip_ring", "the call skips", Skips::Anything},
};

bool fits(Skips skips, const Skip& asked) {
  if (!asked.is_on()) return skips == Skips::Nothing;
  const bool by_steps = asked.ratio == 0 || asked.gather_steps > 0 || !asked.schedule.empty();
  const bool by_order = asked.mode == SkipMode::Shuffled || asked.reversed;
  return skips == Skips::Anything || (skips == Skips::ByRatio && !by_steps && !by_order);
}

bool fits(Where where, const Hosts& hosts) {
  switch (where) {
    case Where::Anywhere:
      return true;
    case Where::PowersOfTwo:
      return std::has_single_bit(static_cast<unsigned>(hosts.size()));
    case Where::EvenHosts:
      return hosts.count() > 1 && hosts.ranks_on_each() > 1;
  }
  return false;
}

}  // namespace

const Preference* preference(const Call& call, const Hosts& hosts) {
  const std::size_t bytes = call.count * size_of(call.dtype);
  for (const Preference& row : table) {
    const bool matches = row.collective == call.collective && fits(row.skips, call.options.skip);
    if (matches && bytes <= row.up_to_bytes && fits(row.where, hosts)) return &row;
  }
  return nullptr;
}

}  // namespace lacuna
