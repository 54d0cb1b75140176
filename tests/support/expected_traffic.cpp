#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/collective_case.hpp"

namespace lacuna::test {
namespace {

/// Adds up what one rank sends to one peer or to several.
class Sum {
 public:
  explicit Sum(std::size_t message_bytes) : message_bytes_(message_bytes) {}

  /// `first`: the pair's first message of the call, which is sent even when it is empty.
  void add(std::size_t bytes, bool first) {
    sum_.payload += bytes;
    sum_.messages += bytes > 0 ? (bytes - 1) / message_bytes_ + 1 : (first ? 1 : 0);
  }
  Traffic value() const { return sum_; }

 private:
  std::size_t message_bytes_;
  Traffic sum_;
};

/// Position i of a ring sends piece c on the way to its owner c if the piece has started before or at i, S + 1 or more
/// positions after c; on the way from its owner unless the next position is that owner.
void add_ring_part(const Case& what, Rank position, std::size_t length, bool first_part, Sum& sum) {
  const auto p = static_cast<std::size_t>(what.size);
  const auto piece_bytes = [&](Rank piece) {
    const auto c = static_cast<std::size_t>((piece % what.size + what.size) % what.size);
    return (exact_boundary(c + 1, length, p) - exact_boundary(c, length, p)) * size_of(what.dtype);
  };
  bool first = first_part;
  for (Rank behind = what.skip + 1; behind < what.size; ++behind) {
    sum.add(piece_bytes(position - behind), std::exchange(first, false));
  }
  for (Rank behind = 0; behind < what.size - 1; ++behind) {
    sum.add(piece_bytes(position - behind), std::exchange(first, false));
  }
}

int log2_floor(Rank p) { return p < 2 ? 0 : 1 + log2_floor(p / 2); }
int log2_ceil(Rank p) { return p < 2 ? 0 : 1 + log2_ceil((p + 1) / 2); }

/// How often a rank sends a whole part (a block where there are blocks): as a pair's first message, and as a later one.
struct WholeSends {
  int first = 0, later = 0;
};

std::optional<WholeSends> whole_sends(const Case& what, Rank rank) {
  const Rank p = what.size;
  const std::string name = fmt::format("{} {}", to_string(what.algorithm->collective), what.algorithm->name);
  if (name == "allreduce recursive_doubling") {
    const int rounds = log2_floor(p);
    const Rank core = 1 << rounds;
    return WholeSends{rank >= core ? 1 : rounds + (rank + core < p ? 1 : 0)};
  }
  if (name == "broadcast tree") {
    const Rank position = (rank - what.root + p) % p;
    int children = 0;
    for (Rank other = 1; other < p; ++other) children += (other & (other - 1)) == position;
    return WholeSends{children};
  }
  if (name == "reduce tree" || name == "gather linear") return WholeSends{rank == what.root ? 0 : 1};
  if (name == "scatter linear") return WholeSends{rank == what.root ? p - 1 : 0};
  if (name == "alltoall pairwise" || name == "reduce_scatter ring" || name == "allgather ring") {
    const bool one_peer = what.algorithm->name == "ring" && p > 1;
    return one_peer ? WholeSends{1, p - 2} : WholeSends{p - 1};
  }
  if (name == "scan recursive_doubling") return WholeSends{log2_ceil(p - rank)};
  if (name == "exclusive_scan recursive_doubling") {
    if (rank == 0 || rank + 1 == p) return WholeSends{rank + 1 < p ? 1 : 0};
    return WholeSends{log2_ceil(p - rank), 1};  // the input and the first sum go to the same rank
  }
  return std::nullopt;
}

/// Around the ring goes every block but one: reduce_scatterv's never starts at its owner, allgatherv's never comes back
/// to it.
void add_ring_blocks(const Case& what, Rank rank, std::size_t chunk_bytes, Sum& sum) {
  const std::size_t width = size_of(what.dtype);
  std::size_t longest = 0;
  for (Rank other = 0; other < what.size; ++other) longest = std::max(longest, what.block(other, other));
  const std::size_t parts = expected_parts(what.algorithm->collective, longest * width, what.size, chunk_bytes);
  const Rank first = what.algorithm->collective == Collective::Allgatherv ? rank : rank + what.size - 1;
  for (std::size_t part = 0; part < parts; ++part) {
    for (Rank behind = 0; behind + 1 < what.size; ++behind) {
      const Rank owner = (first - behind + what.size) % what.size;
      const std::size_t length = what.block(owner, owner);
      const std::size_t share = exact_boundary(part + 1, length, parts) - exact_boundary(part, length, parts);
      sum.add(share * width, part == 0 && behind == 0);
    }
  }
}

/// Each block goes straight to where it belongs, and is sent even when it is empty.
void add_told_blocks(const Case& what, Rank rank, Sum& sum) {
  for (Rank other = 0; other < what.size; ++other) {
    if (other == rank) continue;
    const Collective collective = what.algorithm->collective;
    if (collective == Collective::Gatherv && other == what.root)
      sum.add(what.block(rank, other) * size_of(what.dtype), true);
    if (collective == Collective::Scatterv && rank == what.root)
      sum.add(what.block(other, other) * size_of(what.dtype), true);
    if (collective == Collective::Alltoallv) sum.add(what.block(rank, other) * size_of(what.dtype), true);
  }
}

/// Of 2^k first ranks, rank r sends in the round of distance d the half of its group of 2 d pieces in which it is not,
/// and in the round back its own half. The others send all to a partner, which sends it all back.
void add_halving_doubling_part(const Case& what, Rank rank, std::size_t length, bool first_part, Sum& sum) {
  const Rank core = 1 << log2_floor(what.size);
  const auto bytes = [&](Rank begin, Rank end) {
    const auto at = [&](Rank i) {
      return exact_boundary(static_cast<std::size_t>(i), length, static_cast<std::size_t>(core));
    };
    return (at(end) - at(begin)) * size_of(what.dtype);
  };
  if (rank >= core || rank + core < what.size) sum.add(bytes(0, core), first_part);
  if (rank >= core) return;
  for (Rank distance = 1; distance < core; distance *= 2) {
    const Rank own = rank / distance * distance, other = own ^ distance;
    sum.add(bytes(other, other + distance), first_part);
    sum.add(bytes(own, own + distance), false);
  }
}

/// The search trees of `count` numbers behind `before`, and whom number `me` has above and below it.
void add_tree_neighbours(Rank before, Rank count, Rank parent, Rank me, std::vector<Rank>& found) {
  if (count == 0) return;
  const Rank top = 1 << log2_floor(count), root = before + top;
  if (me == parent) found.push_back(root);
  if (me == root && parent > 0) found.push_back(parent);
  add_tree_neighbours(before, top - 1, root, me, found);
  add_tree_neighbours(root, count - top, root, me, found);
}

/// In each of two trees, a rank sends half the data to each neighbour; the second tree's numbers are turned by one.
void add_double_tree_part(const Case& what, Rank rank, std::size_t length, bool first_part, Sum& sum) {
  const Rank p = what.size;
  std::vector<Rank> met;
  for (Rank half = 0; half < 2; ++half) {
    const auto h = static_cast<std::size_t>(half);
    const std::size_t bytes = (exact_boundary(h + 1, length, 2) - exact_boundary(h, length, 2)) * size_of(what.dtype);
    std::vector<Rank> neighbours;
    add_tree_neighbours(0, p, 0, (rank + half) % p + 1, neighbours);
    for (Rank number : neighbours) {
      const Rank peer = (number - 1 - half + p) % p;
      const bool first = std::find(met.begin(), met.end(), peer) == met.end();
      if (first) met.push_back(peer);
      sum.add(bytes, first_part && first);
    }
  }
}

}  // namespace

std::optional<Traffic> expected_traffic(const Case& what, Rank rank, std::size_t chunk_bytes,
                                        std::size_t message_bytes) {
  const Collective collective = what.algorithm->collective;
  const auto name = what.algorithm->name;
  if (!moves_data(collective)) {
    if (name != "dissemination") return std::nullopt;
    return Traffic{0, static_cast<std::uint64_t>(log2_ceil(what.size))};
  }
  Sum sum(message_bytes);
  if (what.has_tables()) {
    if (name != "ring" && name != "linear" && name != "pairwise") return std::nullopt;
    name == "ring" ? add_ring_blocks(what, rank, chunk_bytes, sum) : add_told_blocks(what, rank, sum);
    return sum.value();
  }
  const std::size_t parts = expected_parts(collective, what.bytes(), what.size, chunk_bytes);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t length = exact_boundary(part + 1, what.count, parts) - exact_boundary(part, what.count, parts);
    const bool first = part == 0;
    if (const auto sends = whole_sends(what, rank)) {
      for (int i = 0; i < sends->first; ++i) sum.add(length * size_of(what.dtype), first);
      for (int i = 0; i < sends->later; ++i) sum.add(length * size_of(what.dtype), false);
    } else if (collective != Collective::Allreduce) {
      return std::nullopt;
    } else if (name == "ring" || name == "skip_ring") {
      const Rank turn = ring_turn(what, static_cast<std::uint32_t>(part));
      add_ring_part(what, rank - turn + what.size, length, first, sum);
    } else if (name == "halving_doubling") {
      add_halving_doubling_part(what, rank, length, first, sum);
    } else if (name == "double_tree") {
      add_double_tree_part(what, rank, length, first, sum);
    } else {
      return std::nullopt;
    }
  }
  return sum.value();
}

}  // namespace lacuna::test
