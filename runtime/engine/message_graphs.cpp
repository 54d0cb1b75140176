#include "runtime/engine/message_graphs.hpp"

#include <vector>

namespace lacuna::runtime {
namespace {

constexpr Region whole(Buffer buffer) { return {.buffer = buffer, .of = 1, .begin = 0, .end = 1}; }

std::shared_ptr<const Graph> graph_of(const Step& step) {
  const GraphShape shape{.collective = message_call};
  return std::make_shared<const Graph>(shape, false, std::vector{step}, std::span<const Graph::Edge>());
}

}  // namespace

MessageGraphs::MessageGraphs()
    : send(graph_of({.kind = StepKind::Send, .to = {}, .from = whole(Buffer::Input)})),
      receive(graph_of({.kind = StepKind::Receive, .to = whole(Buffer::Output), .from = {}})) {}

}  // namespace lacuna::runtime
