#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/values/hosts.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Positions in a row, the last of them next to the first, and which is the own one.
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
/// their peers. Trees answer parent() and children(); grids (ring, torus, hypercube, two-level) coordinates() and
/// line(); all of them neighbours(). Lists that do not make a topology are refused with what was given and what is
/// allowed. The makers that take a number of positions make an empty one for less than 1.
class Topology {
 public:
  using Lists = std::vector<std::vector<Rank>>;  ///< of positions, by position

  /// Coordinate: the place in the ring.
  static Topology ring(Rank size);
  /// order[i] stands at place i.
  static Result<Topology> ring(const std::vector<Rank>& order);
  /// Coordinates: row and column; rows and columns are rings.
  static Result<Topology> torus(Rank rows, Rank columns);
  /// The torus whose sides differ least, no more rows than columns; on a prime number of positions a single row.
  static Topology torus(Rank size);
  /// Coordinate d is bit d of the position; neighbours()[d] differs in it. On 2^k positions.
  static Result<Topology> hypercube(Rank size);
  /// Coordinates: host, and place on it; the first position of a host is its leader. Each host is a binomial tree too,
  /// whose root is the leader.
  static Topology two_level(const Hosts& by_position);

  /// The parent of a position is the position without its lowest bit; 0 is the root.
  static Topology binomial_tree(Rank size);
  /// Positions level by level, two children each; 0 is the root.
  static Topology binary_tree(Rank size);
  /// Two binary trees over all positions. What is inner to one is a leaf of the other. Source: Sanders, Speck, Traeff:
  /// Two-tree algorithms for full bandwidth broadcast, reduction and scan (2009), section 3.
  static std::array<Topology, 2> double_binary_tree(Rank size);

  /// The tree of these parents by position, -1 for the root.
  static Result<Topology> from_parents(const std::vector<Rank>& parents);
  /// The tree of these children.
  static Result<Topology> from_children(const Lists& children);
  /// Two neighbours have each other, and every position is reached from every other.
  static Result<Topology> from_neighbours(const Lists& neighbours);

  Rank size() const { return size_; }
  bool has_parents() const { return !parents_.empty(); }
  /// Coordinates of a position; 0: it has none.
  int dimensions() const { return dimensions_; }

  /// Nothing for a root, and where there are no trees.
  std::optional<Rank> parent(Rank position) const;
  /// Ascending.
  std::vector<Rank> children(Rank position) const;
  /// By position, the levels of a tree below it: 0 for a leaf, and where there are no trees.
  std::vector<int> heights() const;
  std::vector<Rank> coordinates(Rank position) const;
  /// The positions that differ from this one in this coordinate only, ascending by it.
  Line line(Rank position, int dimension = 0) const;
  /// In a grid those before and after it on each line, without doubles; in a tree the parent and the children.
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
  Lists neighbours_;               // of those that were given
};

}  // namespace lacuna
