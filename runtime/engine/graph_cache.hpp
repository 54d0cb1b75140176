#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>

#include "runtime/graph/algorithm.hpp"

namespace lacuna::runtime {

/// The graphs used last. Few serve all calls, so the newest stand first in a short list.
class GraphCache {
 public:
  // What these return is valid until the next call.

  /// Null if it is not there.
  const std::shared_ptr<const Graph>* find(const Algorithm& algorithm, GraphShape shape);
  /// Makes it if it is not there.
  const std::shared_ptr<const Graph>& get(const Algorithm& algorithm, GraphShape shape);
  /// Takes over the graphs of another cache.
  void take(GraphCache&& other);

 private:
  /// Where positions are drawn, each may come.
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
