#include "runtime/engine/graph_cache.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace lacuna::runtime {

const std::shared_ptr<const Graph>& GraphCache::get(const Algorithm& algorithm, GraphShape shape) {
  if (algorithm.symmetric) shape.position = 0;
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.algorithm == &algorithm && entry.shape == shape;
  });
  if (found != entries_.end()) {
    if (found != entries_.begin()) entries_.splice(entries_.begin(), entries_, found);
    return found->graph;
  }
  GraphBuilder program = program_of(algorithm, shape);
  if (!program.status()) throw std::invalid_argument(std::string(program.status().message()));
  entries_.push_front({&algorithm, shape, std::make_shared<const Graph>(std::move(program).build())});
  if (entries_.size() > capacity(shape)) entries_.pop_back();
  return entries_.front().graph;
}

}  // namespace lacuna::runtime
