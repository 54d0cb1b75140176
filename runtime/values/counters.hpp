#pragma once

#include <cstdint>

namespace lacuna {

/// Bytes and messages exchanged with one peer, or with all peers. The transport counts them since it was made. Headers
/// are those of lacuna, without what the network below adds. Bytes that a receiver fetches count as sent by their
/// sender.
struct Counters {
  std::uint64_t payload_sent = 0;
  std::uint64_t header_sent = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t payload_received = 0;
  std::uint64_t messages_received = 0;

  Counters& operator+=(const Counters& other) {
    payload_sent += other.payload_sent;
    header_sent += other.header_sent;
    messages_sent += other.messages_sent;
    payload_received += other.payload_received;
    messages_received += other.messages_received;
    return *this;
  }
};

}  // namespace lacuna
