#pragma once

#include <memory>

#include "runtime/graph/graph.hpp"

namespace lacuna::runtime {

/// A message is a run with one part, and looks like a call of this collective that carries all bytes of one buffer.
inline constexpr Collective message_call = Collective::Broadcast;

/// The graphs of a message's two sides. Each has one step, whose peer stands at the rank's own position.
struct MessageGraphs {
  MessageGraphs();

  std::shared_ptr<const Graph> send, receive;
};

}  // namespace lacuna::runtime
