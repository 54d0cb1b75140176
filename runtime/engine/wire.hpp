#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/values/dtype.hpp"

namespace lacuna::runtime {

/// What a message is for.
enum class MessageKind : std::uint8_t {
  Step,       ///< bytes of a graph's step
  Credit,     ///< nothing but returned credits
  Message,    ///< bytes of a point-to-point message
  Statement,  ///< what the sender has posted as the call `run`; with an index of 1 it asks for the receiver's own
};

/// Leads every message. A long message travels in fragments, each with the place of its bytes. Byte order is the
/// hosts' own: all ranks of a job share one architecture.
struct MessageHeader {
  std::uint64_t communicator = 0;
  std::uint64_t bytes = 0;  ///< of the whole message
  /// How many eager bytes the sender of this header has consumed since the beginning. It is a total, so that a header
  /// that comes twice returns no credit twice.
  std::uint64_t credits = 0;
  std::uint32_t run = 0;     ///< number of the call; a message's tag
  std::uint32_t index = 0;   ///< of the message among those from the sender to the receiver in this part
  std::uint32_t digest = 0;  ///< of what the call asked for; a message's number in its stream
  std::uint32_t part = 0;
  std::uint64_t offset : 48 = 0;  ///< of this fragment in the message: no memory has more than 2^48 bytes
  MessageKind kind : 8 = MessageKind::Step;
  Dtype dtype : 8 = Dtype::U8;  ///< of a message's elements

  /// The fragment begins at this byte of the message.
  void begin_at(std::uint64_t byte) { offset = byte & ((std::uint64_t{1} << 48) - 1); }
};

static_assert(sizeof(MessageHeader) == 48);

/// What an eager fragment costs of the credit beside its bytes. It stands for the memory that notes the fragment until
/// it is consumed.
inline constexpr std::uint64_t fragment_charge = 256;

/// Messages without bytes may overdraw the credit by so much. Further ones wait at their sender.
inline constexpr std::uint64_t empty_allowance = 1 << 20;

/// Once so many bytes are consumed, credit is returned in a message of its own. If no byte can be sent eagerly, the
/// credit serves empty messages only, which may overdraw it.
constexpr std::uint64_t credit_threshold(std::uint64_t credit_bytes) {
  return credit_bytes > fragment_charge ? std::max(credit_bytes / 2, fragment_charge) : empty_allowance / 2;
}

/// Messages for calls further ahead than this are refused: no program comes so far before its other ranks.
inline constexpr std::int32_t furthest_call = 1 << 24;

/// The longest range of a message that waits at the sender as one descriptor. A landing slot is as long.
inline constexpr std::size_t descriptor_range = 1 << 20;

/// Returns how many ranges of one message may wait at the sender at a time. It is more than the receiver, whose window
/// has so many bytes, fetches at once. Further ranges follow when these are taken, so that a long message needs no more
/// memory.
constexpr std::uint32_t most_ranges_waiting(std::size_t window_bytes) {
  return static_cast<std::uint32_t>(64 + window_bytes / descriptor_range);
}

}  // namespace lacuna::runtime
