#pragma once

#include "runtime/values/call.hpp"

namespace lacuna {

/// Largest tag of a message; the smallest is 0.
inline constexpr int largest_tag = 0x7fffffff;

/// How a message is sent or received. The two sides need not agree.
struct MessageOptions {
  Priority priority = Priority::Normal;      ///< a higher one overtakes calls and other messages, but not its own tag
  std::chrono::milliseconds deadline{0};     ///< from the post; 0: LACUNA_DEADLINE
  std::optional<std::uint64_t> notify{};     ///< put this token into the completion queue at the end
  std::shared_ptr<const void> keep_alive{};  ///< as a call's: Options::keep_alive
};

/// `count` elements for rank `to`. Ends when the buffer may be rewritten, which may be before anyone has asked for it.
/// One that does not end by its deadline fails the job, as a call does.
struct Send {
  const void* data = nullptr;
  std::size_t count = 0;
  Dtype dtype = Dtype::F32;
  Rank to = 0;
  int tag = 0;
  Memory memory = {};
  MessageOptions options = {};
};

/// The next message from rank `from` with this tag, of at most `count` elements. Ends when it lies in the buffer. One
/// that is longer, or of another element type, ends the receive with Mismatch and is dropped. A receive that no message
/// met until its deadline ends with TimedOut, and nothing else fails; one of which a part has come by then fails the
/// job.
struct Receive {
  void* data = nullptr;
  std::size_t count = 0;
  Dtype dtype = Dtype::F32;
  Rank from = 0;
  int tag = 0;
  Memory memory = {};
  MessageOptions options = {};
};

}  // namespace lacuna
