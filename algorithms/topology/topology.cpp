#include "algorithms/topology/topology.hpp"

#include <algorithm>
#include <bit>

namespace lacuna {
namespace {

/// The parent of number i of 1 .. n in the search tree whose root is the largest power of two: the numbers with k zeros
/// at their end stand at height k. 0 means that i is the root. If the parent would be larger than n, the parent's own
/// parent takes its place.
Rank search_tree_parent(Rank i, Rank n) {
  if (i == static_cast<Rank>(std::bit_floor(static_cast<unsigned>(n)))) return 0;
  do {
    const Rank lowest = i & -i;
    i = (i - lowest) | 2 * lowest;
  } while (i > n);
  return i;
}

}  // namespace

Topology Topology::ring(Rank size) {
  Topology ring(size);
  ring.dimensions_ = 1;
  for (Rank i = 0; i < ring.size_; ++i) ring.coordinates_.push_back(i);
  return ring;
}

Topology Topology::torus(Rank size) {
  Rank rows = 1;
  for (Rank i = 2; i <= size / i; ++i) {
    if (size % i == 0) rows = i;
  }
  if (size < 1) return Topology(0);
  return *torus(rows, size / rows);
}

Topology Topology::two_level(const Hosts& by_position) {
  Topology hosts(by_position.size());
  hosts.dimensions_ = 2;
  std::vector<std::vector<Rank>> members(static_cast<std::size_t>(by_position.count()));
  for (Rank position = 0; position < hosts.size_; ++position) {
    const Rank host = by_position.host_of(position);
    auto& here = members[static_cast<std::size_t>(host)];
    const auto place = static_cast<Rank>(here.size());
    hosts.coordinates_.insert(hosts.coordinates_.end(), {host, place});
    hosts.parents_.push_back(place == 0 ? -1 : here[static_cast<std::size_t>(place & (place - 1))]);
    here.push_back(position);
  }
  return hosts;
}

Topology Topology::binomial_tree(Rank size) {
  Topology tree(size);
  for (Rank i = 0; i < tree.size_; ++i) tree.parents_.push_back(i == 0 ? -1 : i & (i - 1));
  return tree;
}

Topology Topology::binary_tree(Rank size) {
  Topology tree(size);
  for (Rank i = 0; i < tree.size_; ++i) tree.parents_.push_back(i == 0 ? -1 : (i - 1) / 2);
  return tree;
}

Topology Topology::star(Rank size) {
  Topology tree(size);
  for (Rank i = 0; i < tree.size_; ++i) tree.parents_.push_back(i == 0 ? -1 : 0);
  return tree;
}

/// In the first tree number i of 1 .. P is position i - 1, in the second i - 2 (around P). Odd numbers are leaves.
std::array<Topology, 2> Topology::double_binary_tree(Rank size) {
  std::array<Topology, 2> trees = {Topology(size), Topology(size)};
  for (Rank turn = 0; turn < 2; ++turn) {
    Topology& tree = trees[static_cast<std::size_t>(turn)];
    for (Rank i = 0; i < tree.size_; ++i) {
      const Rank parent = search_tree_parent((i + turn) % size + 1, size);
      tree.parents_.push_back(parent == 0 ? -1 : (parent - 1 - turn + size) % size);
    }
  }
  return trees;
}

std::optional<Rank> Topology::parent(Rank position) const {
  if (parents_.empty() || parents_[static_cast<std::size_t>(position)] < 0) return std::nullopt;
  return parents_[static_cast<std::size_t>(position)];
}

std::vector<Rank> Topology::children(Rank position) const {
  std::vector<Rank> all;
  for (std::size_t i = 0; i < parents_.size(); ++i) {
    if (parents_[i] == position) all.push_back(static_cast<Rank>(i));
  }
  return all;
}

std::vector<int> Topology::heights() const {
  std::vector<int> heights(static_cast<std::size_t>(size_), 0);
  for (Rank leaf = 0; leaf < size_; ++leaf) {
    int level = 1;
    for (auto above = parent(leaf); above; above = parent(*above), ++level) {
      int& height = heights[static_cast<std::size_t>(*above)];
      height = std::max(height, level);
    }
  }
  return heights;
}

std::vector<Rank> Topology::coordinates(Rank position) const {
  std::vector<Rank> all;
  for (int d = 0; d < dimensions_; ++d) all.push_back(coordinate(position, d));
  return all;
}

Line Topology::line(Rank position, int dimension) const {
  Line line;
  for (Rank other = 0; other < size_; ++other) {
    bool beside = dimension < dimensions_;
    for (int d = 0; d < dimensions_ && beside; ++d) {
      beside = d == dimension || coordinate(other, d) == coordinate(position, d);
    }
    if (beside) line.positions.push_back(other);
  }
  std::sort(line.positions.begin(), line.positions.end(),
            [&](Rank a, Rank b) { return coordinate(a, dimension) < coordinate(b, dimension); });
  const auto own = std::find(line.positions.begin(), line.positions.end(), position);
  line.own = static_cast<Rank>(own - line.positions.begin());
  return line;
}

std::vector<Rank> Topology::neighbours(Rank position) const {
  if (!neighbours_.empty()) return neighbours_[static_cast<std::size_t>(position)];
  std::vector<Rank> all;
  for (int d = 0; d < dimensions_; ++d) {
    const Line along = line(position, d);
    for (Rank next : {along.at(along.own - 1), along.at(along.own + 1)}) {
      if (next != position && std::find(all.begin(), all.end(), next) == all.end()) all.push_back(next);
    }
  }
  if (dimensions_ > 0) return all;
  if (const auto above = parent(position)) all.push_back(*above);
  for (Rank child : children(position)) all.push_back(child);
  return all;
}

}  // namespace lacuna
