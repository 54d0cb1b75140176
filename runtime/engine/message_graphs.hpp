#pragma once

#include <memory>

#include "runtime/graph/graph.hpp"

namespace lacuna::runtime {

/// A message is a run of one part in a call of this shape: all bytes of one buffer.
inline constexpr Collective message_call = Collective::Broadcast;

/// The graphs of a message's two sides: one step each, with the peer at the own position.
struct MessageGraphs {
  MessageGraphs();

  std::shared_ptr<const Graph> send, receive;
};

}  // namespace lacuna::runtime
