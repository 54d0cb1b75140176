#include "runtime/engine/graph_cache.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

namespace lacuna::runtime {

const std::shared_ptr<const Graph>* GraphCache::find(const Algorithm& algorithm, GraphShape shape) {
  if (algorithm.symmetric) shape.position = 0;
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.algorithm == &algorithm && entry.shape == shape;
  });
  if (found == entries_.end()) return nullptr;
  if (found != entries_.begin()) entries_.splice(entries_.begin(), entries_, found);
  return &found->graph;
}

const std::shared_ptr<const Graph>& GraphCache::get(const Algorithm& algorithm, GraphShape shape) {
  if (algorithm.symmetric) shape.position = 0;
  if (const auto* known = find(algorithm, shape)) return *known;
  GraphBuilder program = program_of(algorithm, shape);
  if (!program.status()) throw std::invalid_argument(std::string(program.status().message()));
  entries_.push_front({&algorithm, shape, std::make_shared<const Graph>(std::move(program).build())});
  trim();
  return entries_.front().graph;
}

void GraphCache::take(GraphCache&& other) {
  while (!other.entries_.empty()) {
    const Entry& next = other.entries_.back();
    if (find(*next.algorithm, next.shape)) {
      other.entries_.pop_back();
    } else {
      entries_.splice(entries_.begin(), other.entries_, std::prev(other.entries_.end()));
      trim();
    }
  }
}

/// Drops the oldest graph if there are too many. The shape of the newest one tells how many may be of use.
void GraphCache::trim() {
  if (entries_.size() > capacity(entries_.front().shape)) entries_.pop_back();
}

}  // namespace lacuna::runtime
