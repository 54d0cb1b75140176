#include "algorithms/registry/preferences.hpp"

#include <array>
#include <bit>
#include <limits>

namespace lacuna {

extern const Algorithm allreduce_board, allreduce_direct, allreduce_halving_doubling, allreduce_recursive_doubling,
    allreduce_star, allreduce_two_level, barrier_board;

namespace {

using Where = Preference::Where;

constexpr std::size_t any_size = std::numeric_limits<std::size_t>::max();
constexpr std::size_t long_piece = 16 << 10, long_call = 64 << 10;  // bytes; pieces: the default of LACUNA_MAPPED

// The limits were measured on 2 to 16 ranks over shared memory, with two processors and with 16, and on emulated hosts
// with links of 1 Gbit/s (docs/performance.md).
constexpr std::array table = {
    Preference{&allreduce_board, 4 << 10, Where::Board, "one look at memory that all ranks share"},
    Preference{&barrier_board, any_size, Where::Board, "one look at memory that all ranks share"},
    Preference{&allreduce_star, 64 << 10, Where::CrowdedHost, "the fewest messages"},
    Preference{&allreduce_recursive_doubling, 16 << 10, Where::Anywhere, "so little that the number of rounds counts"},
    Preference{&allreduce_two_level, any_size, Where::EvenHosts, "the least bytes and rounds between hosts"},
    Preference{&allreduce_halving_doubling, 256 << 10, Where::PairOnHost, "no copies for the other rank"},
    Preference{&allreduce_direct, any_size, Where::LongPieces, "the ring's bytes in two rounds"},
    Preference{&allreduce_halving_doubling, 1 << 20, Where::PowersOfTwo, "the ring's bytes in fewer rounds"},
    Preference{&allreduce_direct, any_size, Where::CrowdedHost, "the ring's bytes in two rounds"},
};

bool fits(Where where, const Hosts& hosts, std::size_t bytes) {
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
    case Where::LongPieces:
      return hosts.count() == 1 && hosts.size() > 1 && bytes > long_call &&
             bytes / static_cast<std::size_t>(hosts.size()) >= long_piece;
    case Where::PairOnHost:
      return hosts.count() == 1 && hosts.size() == 2;
  }
  return false;
}

}  // namespace

std::string_view text_of(Where where) {
  switch (where) {
    case Where::Anywhere:
      return "";
    case Where::PowersOfTwo:
      return " on 2^k ranks";
    case Where::EvenHosts:
      return " on several hosts with as many ranks each";
    case Where::Board:
      return " on ranks that share a board";
    case Where::CrowdedHost:
      return " on more than 4 ranks of a host with fewer processors";
    case Where::LongPieces:
      return " above 64 KiB, with 16 KiB or more for each rank of one host";
    case Where::PairOnHost:
      return " on 2 ranks of one host";
  }
  return "";
}

const Preference* preference(const Call& call, const Hosts& hosts) {
  const std::size_t bytes = call.count * size_of(call.dtype);
  for (const Preference& row : table) {
    if (row.algorithm->collective == call.collective && bytes <= row.up_to_bytes && fits(row.where, hosts, bytes)) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace lacuna
