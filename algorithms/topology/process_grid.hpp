#pragma once

#include <vector>

#include "algorithms/topology/topology.hpp"
#include "runtime/values/exchange.hpp"

namespace lacuna {

/// One dimension of a ProcessGrid.
struct Side {
  Rank length = 1;        ///< ranks along it, 1 or more
  bool periodic = false;  ///< the last rank stands next to the first, so that a lone rank is its own neighbour
};

/// Ranks in a grid of any number of dimensions, as codes use it that cut a domain into boxes. An immutable value. The
/// last coordinate changes fastest from one rank to the next.
class ProcessGrid {
 public:
  /// The product of the lengths is the number of ranks. Refuses a grid without sides, lengths below 1, and more ranks
  /// than a Rank can number.
  static Result<ProcessGrid> make(std::vector<Side> sides);
  /// A grid of `size` ranks with so many dimensions, whose lengths are close to each other and descend. All sides are
  /// periodic, or none is. Refuses a size or a number of dimensions below 1.
  static Result<ProcessGrid> balanced(Rank size, int dimensions, bool periodic = false);

  Rank size() const { return size_; }
  int dimensions() const { return static_cast<int>(sides_.size()); }
  const std::vector<Side>& sides() const { return sides_; }

  /// Returns one coordinate for each dimension. The rank must be 0 .. size() - 1.
  std::vector<Rank> coordinates(Rank rank) const;
  /// Returns the rank at these coordinates, or Neighbour::nobody for a place beyond the border. Coordinates of periodic
  /// sides wrap around. There must be dimensions() of them.
  Rank rank_at(const std::vector<Rank>& coordinates) const;
  /// Returns 2 * dimensions() places: 2 d is the rank before this one in dimension d, and 2 d + 1 the one behind it.
  /// Their rank is Neighbour::nobody beyond a border. What a rank sends to place 2 d arrives from place 2 d + 1 of the
  /// neighbour, and the other way round, also where both are the same rank.
  std::vector<Neighbour> neighbours(Rank rank) const;

 private:
  ProcessGrid(std::vector<Side> sides, Rank size) : sides_(std::move(sides)), size_(size) {}

  std::vector<Side> sides_;
  Rank size_;
};

/// Returns the neighbours of a rank in a topology, each once and in the order of Topology::neighbours(). The rank must
/// be 0 .. topology.size() - 1.
std::vector<Neighbour> neighbours_of(const Topology& topology, Rank rank);

}  // namespace lacuna
