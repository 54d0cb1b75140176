#pragma once

#include <span>
#include <vector>

#include "runtime/graph/algorithm.hpp"

namespace lacuna {

/// The graphs of all positions. Of a symmetric program there is one, which stands at each. Any thread may read.
class Graphs {
 public:
  /// Of no positions.
  Graphs() = default;
  /// By position, or one symmetric graph for all of so many.
  Graphs(std::vector<Graph> graphs, Rank size);

  // The list of all points to them.
  Graphs(Graphs&&) = default;
  Graphs& operator=(Graphs&&) = default;

  Rank size() const { return static_cast<Rank>(by_position_.size()); }
  const Graph& at(Rank position) const { return *by_position_[static_cast<std::size_t>(position)]; }
  /// By position.
  std::span<const Graph* const> all() const { return by_position_; }
  /// Each of them once, by position: where there are fewer than positions, the one that stands at each.
  std::span<const Graph* const> distinct() const { return all().first(graphs_.size()); }

 private:
  std::vector<Graph> graphs_;
  std::vector<const Graph*> by_position_;
};

/// The graphs of all positions, with the structural options of `options`, or what the program asked for and can't be
/// had. Hosts by position; they count where the algorithm is by_hosts.
Result<Graphs> graphs_of(const Algorithm& algorithm, const Hosts& hosts, const GraphShape& options = {});

}  // namespace lacuna
