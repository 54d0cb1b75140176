#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/values/hosts.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Positions in a row, with the own one among them. The last position stands next to the first.
struct Line {
  std::vector<Rank> positions;
  Rank own = 0;  ///< index of the own position

  Rank size() const { return static_cast<Rank>(positions.size()); }
  /// An index that wraps around the line.
  Rank wrap(Rank index) const { return (index % size() + size()) % size(); }
  /// The position at an index, which wraps around.
  Rank at(Rank index) const { return positions[static_cast<std::size_t>(wrap(index))]; }
};

/// Who stands next to whom: an immutable value over the positions 0 .. size()-1 of a graph, which programs ask for
/// their peers. Trees answer parent() and children(). Grids (ring, torus, hypercube, two-level) answer coordinates()
/// and line(). All of them answer neighbours(). A maker refuses lists that make no topology; the error names what was
/// given and what is allowed. The makers that take a number of positions make an empty topology for less than 1.
class Topology {
 public:
  using Lists = std::vector<std::vector<Rank>>;  ///< of positions, by position

  /// The coordinate is the place in the ring.
  static Topology ring(Rank size);
  /// order[i] is the position at place i.
  static Result<Topology> ring(const std::vector<Rank>& order);
  /// The coordinates are row and column; rows and columns are rings.
  static Result<Topology> torus(Rank rows, Rank columns);
  /// The torus whose sides differ least, with no more rows than columns. A prime number of positions makes a single
  /// row.
  static Topology torus(Rank size);
  /// Coordinate d is bit d of the position, and neighbours()[d] differs in it. `size` must be a power of two.
  static Result<Topology> hypercube(Rank size);
  /// The coordinates are the host and the place on it. The first position of a host is its leader. The positions of
  /// each host are a binomial tree too, whose root is the leader.
  static Topology two_level(const Hosts& by_position);

  /// The parent of a position is the position without its lowest bit; 0 is the root.
  static Topology binomial_tree(Rank size);
  /// The positions stand level by level, with two children each; 0 is the root.
  static Topology binary_tree(Rank size);
  /// All other positions are children of position 0.
  static Topology star(Rank size);
  /// Two binary trees over all positions. An inner position of one is a leaf of the other. Source: Sanders, Speck,
  /// Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and scan (2009), section 3.
  static std::array<Topology, 2> double_binary_tree(Rank size);

  /// The tree in which parents[i] is the parent of position i; the root has -1.
  static Result<Topology> from_parents(const std::vector<Rank>& parents);
  /// The tree in which children[i] are the children of position i.
  static Result<Topology> from_children(const Lists& children);
  /// If one position has another as neighbour, the other must have it too, and every position must be reached from
  /// every other.
  static Result<Topology> from_neighbours(const Lists& neighbours);

  Rank size() const { return size_; }
  bool has_parents() const { return !parents_.empty(); }
  /// How many coordinates a position has. 0: it has none.
  int dimensions() const { return dimensions_; }

  /// Returns nothing for a root, and for a topology without trees.
  std::optional<Rank> parent(Rank position) const;
  /// The children are in ascending order.
  std::vector<Rank> children(Rank position) const;
  /// By position, how many levels of its tree lie below it: 0 for a leaf, and in a topology without trees.
  std::vector<int> heights() const;
  std::vector<Rank> coordinates(Rank position) const;
  /// The positions that differ from this one in this coordinate only, in ascending order of it.
  Line line(Rank position, int dimension = 0) const;
  /// In a grid these are the positions before and after it on each line, each named once; in a tree the parent and the
  /// children.
  std::vector<Rank> neighbours(Rank position) const;

 private:
  explicit Topology(Rank size) : size_(size > 0 ? size : 0) {}

  Rank coordinate(Rank position, int dimension) const {
    return coordinates_[static_cast<std::size_t>(position) * static_cast<std::size_t>(dimensions_) +
                        static_cast<std::size_t>(dimension)];
  }

  Rank size_;
  std::vector<Rank> parents_;  // by position; -1: a root
  int dimensions_ = 0;
  std::vector<Rank> coordinates_;  // by position and dimension
  Lists neighbours_;               // those that from_neighbours() was given
};

}  // namespace lacuna
