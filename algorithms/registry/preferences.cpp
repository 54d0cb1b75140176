#include "algorithms/registry/preferences.hpp"

#include <array>
#include <bit>
#include <limits>

namespace lacuna {
namespace {

using Where = Preference::Where;

constexpr std::size_t any_size = std::numeric_limits<std::size_t>::max();

// The limits were measured on 2 to 16 ranks over shared memory, with two processors and with 16, and on emulated hosts
// with links of 1 Gbit/s (docs/performance.md).
constexpr std::array table = {
    Preference{Collective::Allreduce, 4 << 10, Where::Board, "board", "one look at memory that all ranks share"},
    Preference{Collective::Barrier, any_size, Where::Board, "board", "one look at memory that all ranks share"},
    Preference{Collective::Allreduce, 64 << 10, Where::CrowdedHost, "star", "the fewest messages"},
    Preference{Collective::Allreduce, 16 << 10, Where::Anywhere, "recursive_doubling",
               "so little that the number of rounds counts"},
    Preference{Collective::Allreduce, any_size, Where::EvenHosts, "two_level",
               "the least bytes and rounds between hosts"},
    Preference{Collective::Allreduce, 1 << 20, Where::PowersOfTwo, "halving_doubling",
               "the ring's bytes in fewer rounds"},
    Preference{Collective::Allreduce, any_size, Where::CrowdedHost, "direct", "the ring's bytes in two rounds"},
};

bool fits(Where where, const Hosts& hosts) {
  switch (where) {
    case Where::Anywhere:
      return true;
    case Where::PowersOfTwo:
      return std::has_single_bit(static_cast<unsigned>(hosts.size()));
    case Where::EvenHosts:
      return hosts.count() > 1 && hosts.ranks_on_each() > 1;
    case Where::Board:
      return hosts.has_board();
    case Where::CrowdedHost:
      return hosts.count() == 1 && hosts.size() > 4 && hosts.is_crowded();
  }
  return false;
}

}  // namespace

const Preference* preference(const Call& call, const Hosts& hosts) {
  const std::size_t bytes = call.count * size_of(call.dtype);
  for (const Preference& row : table) {
    if (row.collective == call.collective && bytes <= row.up_to_bytes && fits(row.where, hosts)) return &row;
  }
  return nullptr;
}

}  // namespace lacuna
