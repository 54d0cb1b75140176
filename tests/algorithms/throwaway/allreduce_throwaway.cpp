#include "algorithms/registry/registry.hpp"

namespace lacuna {
namespace {

/// All positions send their data to position 0, which adds them up and sends the result to all positions.
void build(GraphBuilder& graph) {
  if (graph.position() != 0) {
    graph.send(graph.input(), 0);
    graph.receive(graph.output(), 0);
    return;
  }
  Region sum = graph.input();
  for (Rank peer = 1; peer < graph.size(); ++peer) {
    graph.receive_reduce(graph.output(), sum, peer, Brings::Term);
    sum = graph.output();
  }
  if (graph.size() == 1) graph.copy(graph.output(), graph.input());
  graph.finish(graph.output());
  for (Rank peer = 1; peer < graph.size(); ++peer) graph.send(graph.output(), peer);
}

}  // namespace

extern const Algorithm allreduce_throwaway{.collective = Collective::Allreduce,
                                           .name = "throwaway",
                                           .summary = "all to one and back",
                                           .symmetric = false,
                                           .build = build};

}  // namespace lacuna
