#pragma once

#include "runtime/values/call.hpp"

namespace lacuna {

/// The largest tag of a message. The smallest is 0.
inline constexpr int largest_tag = 0x7fffffff;

/// How a message is sent or received. The options may differ between sender and receiver.
struct MessageOptions {
  Priority priority = Priority::Normal;      ///< a higher class overtakes calls and messages with other tags
  std::chrono::milliseconds deadline{0};     ///< counted from the post; 0: LACUNA_DEADLINE
  std::optional<std::uint64_t> notify{};     ///< the completion queue gets this token at the end
  std::shared_ptr<const void> keep_alive{};  ///< has the rules of Options::keep_alive
};

/// Sends `count` elements to rank `to`. The send ends when the buffer may be rewritten, perhaps before any receive has
/// asked for the message. A send that does not end by its deadline fails the communicator, as a call does.
struct Send {
  const void* data = nullptr;
  std::size_t count = 0;
  Dtype dtype = Dtype::F32;
  Rank to = 0;
  int tag = 0;
  Memory memory = {};
  MessageOptions options = {};
};

/// A receive from this rank takes the next message with its tag from any rank.
inline constexpr Rank any_rank = -2;

/// Receives the next message from rank `from` with this tag, of at most `count` elements. `from` may be any_rank. A
/// message meets the receive that was started first among those that take its tag from its sender or from any rank.
/// A receive from any rank takes the message that has waited longest here. Messages of one sender still come in the
/// order in which they were sent. The receive ends when the
/// message lies in the buffer. A message that is longer, or has another element type, is dropped, and the receive ends
/// with Mismatch. If no message has come by the deadline, the receive ends with TimedOut, and nothing else fails. If
/// only some of the message has come by then, the communicator fails.
struct Receive {
  void* data = nullptr;
  std::size_t count = 0;
  Dtype dtype = Dtype::F32;
  Rank from = 0;  ///< a rank, or any_rank
  int tag = 0;
  Memory memory = {};
  MessageOptions options = {};
};

}  // namespace lacuna
