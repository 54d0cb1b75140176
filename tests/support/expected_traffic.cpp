#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/collective_case.hpp"
#include "tests/support/skip_definition.hpp"

namespace lacuna::test {
namespace {

/// Adds up what one rank sends to one peer or to several.
class Sum {
 public:
  explicit Sum(std::size_t message_bytes) : message_bytes_(message_bytes) {}

  /// `first` says whether it is the first message of the pair in the call, which is sent even if it is empty.
  void add(std::size_t bytes, bool first) {
    sum_.payload += bytes;
    sum_.messages += bytes > 0 ? (bytes - 1) / message_bytes_ + 1 : (first ? 1 : 0);
  }
  Traffic value() const { return sum_; }

 private:
  std::size_t message_bytes_;
  Traffic sum_;
};

/// One part of the data.
struct Part {
  const Case& what;
  std::size_t length;  ///< in elements
  bool first;

  /// The number of elements of the pieces begin .. end-1 of `of`.
  std::size_t bytes(Rank begin, Rank end, Rank of) const {
    const auto at = [&](Rank i) {
      return exact_boundary(static_cast<std::size_t>(i), length, static_cast<std::size_t>(of));
    };
    return (at(end) - at(begin)) * size_of(what.dtype);
  }
};

/// A ring of some ranks over the pieces first_piece .. first_piece + size - 1 of `of`. It computes what the rank number
/// `own` in the ring sends.
struct RingOf {
  Rank size, own;
  Rank first_piece, of;
  int skip = 0;
};

/// What position i of a ring sends. On the way to its owner c, it sends piece c if the piece has started at i or
/// before, which is S + 1 or more positions after c. On the way from the owner, it sends the piece unless the next
/// position is the owner.
void add_ring(const Part& part, const RingOf& ring, Sum& sum) {
  bool first = part.first;
  const auto add = [&](Rank behind) {
    const Rank piece = ring.first_piece + (ring.own - behind + 2 * ring.size) % ring.size;
    sum.add(part.bytes(piece, piece + 1, ring.of), std::exchange(first, false));
  };
  for (Rank behind = ring.skip + 1; behind < ring.size; ++behind) add(behind);
  for (Rank behind = 0; behind < ring.size - 1; ++behind) add(behind);
}

/// Rank `own` of `size` ranks sends every other one the piece of that rank, and later its own piece.
void add_direct(const Part& part, Rank size, Rank own, Sum& sum) {
  for (Rank peer = 0; peer < size; ++peer) {
    if (peer == own) continue;
    sum.add(part.bytes(peer, peer + 1, size), part.first);
    sum.add(part.bytes(own, own + 1, size), false);
  }
}

struct Place {
  Rank row, column;
};

/// A rank of a grid stands in two rings. That along its row moves a piece for each column. That along its column moves
/// the piece of that column, which is cut once more.
void add_torus(const Part& part, Rank rank, Sum& sum) {
  const Rank rows = torus_rows(part.what.size), columns = part.what.size / rows;
  const Place own{rank / columns, rank % columns};
  const int in_rows = skips_in_rows(part.what.skip, columns);
  add_ring(part, {columns, own.column, 0, columns, in_rows}, sum);
  add_ring(part, {rows, own.row, own.column * rows, rows * columns, part.what.skip - in_rows}, sum);
}

/// If all hosts have the same number of ranks, the ranks of a host exchange pieces directly. The ranks of all hosts
/// that own the same piece stand in a ring over it, which cuts it once more. If not, each host has a binomial tree, and
/// the leaders of the hosts stand in a ring. Every rank but the leader sends the data to the rank above it in the tree,
/// and all send it to the ranks below them.
void add_two_level(const Part& part, Rank rank, Sum& sum) {
  std::vector<std::vector<Rank>> hosts;  // the ranks of each host, in the order of their first ranks
  std::vector<Rank> names;
  Place own{0, 0};
  for (Rank other = 0; other < part.what.size; ++other) {
    const Rank name = part.what.hosts.empty() ? 0 : part.what.hosts[static_cast<std::size_t>(other)];
    const auto host = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (host == names.size()) names.push_back(name);
    hosts.resize(names.size());
    if (other == rank) own = {static_cast<Rank>(host), static_cast<Rank>(hosts[host].size())};
    hosts[host].push_back(other);
  }
  const auto h = static_cast<Rank>(hosts.size());
  const auto k = static_cast<Rank>(hosts[static_cast<std::size_t>(own.row)].size());
  const bool even =
      std::all_of(hosts.begin(), hosts.end(), [&](const auto& host) { return host.size() == hosts[0].size(); });
  if (even) {
    add_direct(part, k, own.column, sum);
    return add_ring(part, {h, own.row, own.column * h, h * k, part.what.skip}, sum);
  }
  if (own.column != 0) sum.add(part.bytes(0, 1, 1), part.first);
  for (Rank below = 1; below < k; ++below) {
    if ((below & (below - 1)) == own.column) sum.add(part.bytes(0, 1, 1), part.first);
  }
  if (own.column == 0) add_ring(part, {h, own.row, 0, h, part.what.skip}, sum);
}

int log2_floor(Rank p) { return p < 2 ? 0 : 1 + log2_floor(p / 2); }
int log2_ceil(Rank p) { return p < 2 ? 0 : 1 + log2_ceil((p + 1) / 2); }

/// How often a rank sends a whole part, or a block if there are blocks: as the first message of a pair, and as a later
/// one.
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
    const int sends = p - 1 - what.skip;
    const bool one_peer = what.algorithm->name == "ring" && sends > 0;
    return one_peer ? WholeSends{1, sends - 1} : WholeSends{sends};
  }
  if (name == "scan recursive_doubling") return WholeSends{log2_ceil(p - rank)};
  if (name == "exclusive_scan recursive_doubling") {
    if (rank == 0 || rank + 1 == p) return WholeSends{rank + 1 < p ? 1 : 0};
    return WholeSends{log2_ceil(p - rank), 1};  // the input and the first sum go to the same rank
  }
  return std::nullopt;
}

/// Every block but one goes around the ring: that of reduce_scatterv never starts at its owner, and that of allgatherv
/// never comes back to its owner.
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

/// Each block goes straight to where it belongs, and is sent even if it is empty.
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

/// The first 2^k ranks exchange halves. In the round with distance d, rank r sends the half of its group of 2 d pieces
/// in which it does not lie, and in the round back it sends the half in which it lies. Each other rank sends everything
/// to a partner, which sends everything back. If the S largest distances are left out on the way there, only what a
/// block of 2^k / 2^S pieces sums up is sent to a partner.
void add_halving_doubling(const Part& part, Rank rank, Sum& sum) {
  const Rank core = 1 << log2_floor(part.what.size), block = core >> part.what.skip;
  const auto bytes = [&](Rank begin, Rank end) { return part.bytes(begin, end, core); };
  const Rank first_of_block = rank % core / block * block;
  if (rank >= core) return sum.add(bytes(first_of_block, first_of_block + block), part.first);
  if (rank + core < part.what.size) sum.add(bytes(0, core), part.first);
  for (Rank distance = 1; distance < core; distance *= 2) {
    const Rank own = rank / distance * distance, other = own ^ distance;
    if (distance < block) sum.add(bytes(other, other + distance), part.first);
    sum.add(bytes(own, own + distance), part.first && distance >= block);
  }
}

/// The search tree of `count` numbers behind `before`, and which numbers stand above and below number `me`.
void add_tree_neighbours(Rank before, Rank count, Rank parent, Rank me, std::vector<Rank>& found) {
  if (count == 0) return;
  const Rank top = 1 << log2_floor(count), root = before + top;
  if (me == parent) found.push_back(root);
  if (me == root && parent > 0) found.push_back(parent);
  add_tree_neighbours(before, top - 1, root, me, found);
  add_tree_neighbours(root, count - top, root, me, found);
}

/// In each of two trees, a rank sends half of the data to each neighbour. The numbers of the second tree are turned by
/// one. Ranks less than S levels above their lowest leaf send nothing up.
void add_double_tree(const Part& part, Rank rank, Sum& sum) {
  const Rank p = part.what.size;
  std::vector<Rank> met;
  for (Rank half = 0; half < 2; ++half) {
    const std::size_t bytes = part.bytes(half, half + 1, 2);
    const std::vector<int> heights = tree_heights(p, half);
    std::vector<Rank> neighbours;
    add_tree_neighbours(0, p, 0, (rank + half) % p + 1, neighbours);
    for (Rank number : neighbours) {
      const Rank peer = (number - 1 - half + p) % p;
      const auto height = [&](Rank position) { return heights[static_cast<std::size_t>(position)]; };
      if (height(peer) > height(rank) && height(rank) < part.what.skip) continue;
      const bool first = std::find(met.begin(), met.end(), peer) == met.end();
      if (first) met.push_back(peer);
      sum.add(bytes, part.first && first);
    }
  }
}

void add_whole_ring(const Part& part, Rank rank, Sum& sum) {
  add_ring(part, {part.what.size, rank, 0, part.what.size, part.what.skip}, sum);
}

void add_whole_direct(const Part& part, Rank rank, Sum& sum) { add_direct(part, part.what.size, rank, sum); }

/// All data go to rank 0, and from there to every rank.
void add_star(const Part& part, Rank rank, Sum& sum) {
  const Rank p = part.what.size;
  for (Rank other = 1; other < p; ++other) {
    if (rank == 0 || rank == other) sum.add(part.bytes(0, 1, 1), part.first);
  }
}

/// What one position sends for a part of an allreduce. Null if there is no formula.
using Sends = void (*)(const Part&, Rank, Sum&);
Sends sends_of(std::string_view name) {
  if (name == "ring") return add_whole_ring;
  if (name == "halving_doubling") return add_halving_doubling;
  if (name == "double_tree") return add_double_tree;
  if (name == "torus") return add_torus;
  if (name == "direct") return add_whole_direct;
  if (name == "star") return add_star;
  return name == "two_level" ? add_two_level : nullptr;
}

}  // namespace

std::optional<Traffic> expected_traffic(const Case& what, Rank rank, std::size_t chunk_bytes,
                                        std::size_t message_bytes) {
  const Collective collective = what.algorithm->collective;
  const auto name = what.algorithm->name;
  if (what.algorithm->on_board) return Traffic{what.bytes() * static_cast<std::uint64_t>(what.size - 1), 0};
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
  for (std::size_t number = 0; number < parts; ++number) {
    const std::size_t length =
        exact_boundary(number + 1, what.count, parts) - exact_boundary(number, what.count, parts);
    const bool first = number == 0;
    if (const auto sends = whole_sends(what, rank)) {
      for (int i = 0; i < sends->first; ++i) sum.add(length * size_of(what.dtype), first);
      for (int i = 0; i < sends->later; ++i) sum.add(length * size_of(what.dtype), false);
    } else if (collective != Collective::Allreduce) {
      return std::nullopt;
    } else if (const auto add = sends_of(name)) {
      const std::vector<Rank> order = skip_order(what, static_cast<std::uint32_t>(number));
      Case placed = what;  // its ranks are positions
      for (std::size_t i = 0; i < what.hosts.size(); ++i) {
        placed.hosts[i] = what.hosts[static_cast<std::size_t>(order[i])];
      }
      const auto position = static_cast<Rank>(std::find(order.begin(), order.end(), rank) - order.begin());
      add({placed, length, first}, position, sum);
    } else {
      return std::nullopt;
    }
  }
  return sum.value();
}

}  // namespace lacuna::test
