#pragma once

#include <span>
#include <vector>

#include "runtime/graph/algorithm.hpp"

namespace lacuna {

/// The graphs of all positions. A symmetric program has one graph, which stands at each position. Any thread may read.
class Graphs {
 public:
  /// There are no positions.
  Graphs() = default;
  /// `graphs` has a graph for each position, or one symmetric graph for all of `size` positions.
  Graphs(std::vector<Graph> graphs, Rank size);

  // There are no copies, because by_position_ points into graphs_.
  Graphs(Graphs&&) = default;
  Graphs& operator=(Graphs&&) = default;

  Rank size() const { return static_cast<Rank>(by_position_.size()); }
  const Graph& at(Rank position) const { return *by_position_[static_cast<std::size_t>(position)]; }
  /// The graph of each position.
  std::span<const Graph* const> all() const { return by_position_; }
  /// Each graph once: a graph for each position, or the one that stands at all positions.
  std::span<const Graph* const> distinct() const { return all().first(graphs_.size()); }

 private:
  std::vector<Graph> graphs_;
  std::vector<const Graph*> by_position_;
};

/// Builds the graphs of all positions, with the structure of `options`, or returns why the program can't be built.
/// `hosts` has the host of each position. It matters only if the algorithm is by_hosts.
Result<Graphs> graphs_of(const Algorithm& algorithm, const Hosts& hosts, const GraphShape& options = {});

}  // namespace lacuna
