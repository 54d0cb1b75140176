#include "runtime/graph/graphs.hpp"

#include <utility>

#include "runtime/graph/feedback.hpp"
#include "runtime/graph/packing.hpp"

namespace lacuna {

GraphBuilder program_of(const Algorithm& algorithm, const GraphShape& shape) {
  const auto& [in_place, feedback, data, numbers] = shape.structure;
  GraphBuilder g(shape, algorithm.symmetric);
  if (data == Data::Packed) gather_data(g);
  if (data == Data::RunMemory) use_run_memory(g);
  if (feedback) add_to_residual(g);
  algorithm.build(g);
  if (feedback) clear_contributed(g);
  if (data == Data::Packed) scatter_data(g);
  return g;
}

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
