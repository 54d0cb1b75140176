#include "runtime/graph/graphs.hpp"

#include <utility>

namespace lacuna {

Graphs::Graphs(std::vector<Graph> graphs, Rank size) : graphs_(std::move(graphs)) {
  const auto count = static_cast<std::size_t>(size);
  for (std::size_t i = 0; i < count; ++i) by_position_.push_back(&graphs_[i % graphs_.size()]);
}

Result<Graphs> graphs_of(const Algorithm& algorithm, const Hosts& hosts, const GraphShape& options) {
  GraphShape shape = options;
  shape.collective = algorithm.collective;
  shape.size = hosts.size();
  shape.hosts = algorithm.by_hosts ? hosts : Hosts();
  std::vector<Graph> graphs;
  for (shape.position = 0; shape.position < (algorithm.symmetric ? 1 : shape.size); ++shape.position) {
    GraphBuilder program = program_of(algorithm, shape);
    if (!program.status()) return program.status();
    graphs.push_back(std::move(program).build());
  }
  return Graphs(std::move(graphs), shape.size);
}

}  // namespace lacuna
