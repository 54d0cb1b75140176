#include "runtime/graph/graph.hpp"

#include <algorithm>

namespace lacuna {

Graph::Graph(const GraphShape& shape, bool symmetric, std::vector<Step> steps, std::span<const Edge> edges,
             GraphTables tables)
    : shape_(shape), symmetric_(symmetric), steps_(std::move(steps)), tables_(std::move(tables)) {
  index_edges(edges);
  index_receives();
}

void Graph::index_edges(std::span<const Edge> edges) {
  first_successor_.assign(steps_.size() + 1, 0);
  predecessor_counts_.assign(steps_.size(), 0);
  for (const auto& [before, after] : edges) {
    ++first_successor_[before + 1];
    ++predecessor_counts_[after];
  }
  for (std::size_t i = 1; i < first_successor_.size(); ++i) first_successor_[i] += first_successor_[i - 1];
  successors_.resize(edges.size());
  auto next = first_successor_;
  for (const auto& [before, after] : edges) successors_[next[before]++] = after;
  for (StepId id = 0; id < steps_.size(); ++id) {
    if (predecessor_counts_[id] == 0) roots_.push_back(id);
  }
}

void Graph::index_receives() {
  for (StepId id = 0; id < steps_.size(); ++id) {
    if (steps_[id].receives()) receives_.push_back(id);
  }
  std::sort(receives_.begin(), receives_.end(), [this](StepId a, StepId b) {
    return std::pair(steps_[a].peer, steps_[a].index) < std::pair(steps_[b].peer, steps_[b].index);
  });
  for (std::uint32_t i = 0; i < receives_.size(); ++i) {
    const Rank offset = steps_[receives_[i]].peer;
    if (sources_.empty() || sources_.back().offset != offset) sources_.push_back({offset, i, 0});
    ++sources_.back().count;
  }
}

std::optional<StepId> Graph::receiver(Rank offset, std::uint32_t index) const {
  for (const Source& source : sources_) {
    if (source.offset == offset) {
      if (index >= source.count) return std::nullopt;
      return receives_[source.first + index];
    }
  }
  return std::nullopt;
}

}  // namespace lacuna
