#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>

#include "runtime/graph/algorithm.hpp"

namespace lacuna::runtime {

/// Keeps the graphs that were used last. A few graphs serve all calls, so a short list with the newest first is enough.
class GraphCache {
 public:
  // What these functions return is valid until the next call.

  /// Returns null if the graph is not there.
  const std::shared_ptr<const Graph>* find(const Algorithm& algorithm, GraphShape shape);
  /// Makes the graph if it is not there.
  const std::shared_ptr<const Graph>& get(const Algorithm& algorithm, GraphShape shape);
  /// Takes over the graphs of another cache.
  void take(GraphCache&& other);

 private:
  /// Where the position of a rank is drawn, any position may come, and each has graphs of its own.
  static std::size_t capacity(const GraphShape& shape) {
    return std::max<std::size_t>(64, 2 * static_cast<std::size_t>(shape.size));
  }

  struct Entry {
    const Algorithm* algorithm;
    GraphShape shape;
    std::shared_ptr<const Graph> graph;
  };
  void trim();

  std::list<Entry> entries_;
};

}  // namespace lacuna::runtime
