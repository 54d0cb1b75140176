#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "transports/transport.hpp"

struct ucp_ep;

namespace lacuna {

class UcxTransport;

/// The kinds of messages.
enum class UcxKind : std::uint8_t {
  Eager = 0,
  Descriptor = 1,
  Goodbye = 2,  ///< the sender closes, and has sent all that it will send
  Heard = 3,    ///< the answer to a goodbye: everything before it has arrived
  Hello = 4     ///< the sender's connection to the receiver is made: see UcxTransport::greet()
};

inline constexpr std::size_t ucx_kinds = 5;
inline constexpr std::size_t ucx_most_ranks = (std::size_t{1} << 16) / ucx_kinds;

/// The number under which UCX carries a message. It tells the receiver who the sender is and which kind of message this
/// is, so that the caller's header travels as it is.
constexpr unsigned ucx_message_id(Peer from, UcxKind kind) {
  return from * static_cast<unsigned>(ucx_kinds) + static_cast<unsigned>(kind);
}

/// A send or a fetch, from its start to its report.
struct UcxOperation {
  UcxTransport* owner = nullptr;
  Token token = nullptr;
  Peer peer = 0;
  UcxKind kind = UcxKind::Eager;
  int status = 0;         ///< a ucs_status_t
  bool returned = false;  ///< UCX's function that starts it has returned
  bool ended = false;
  std::size_t fetched = 0;                       ///< number of bytes that a fetch brings
  std::span<const std::byte> header{}, bytes{};  ///< only of a send that waits until its link is open

  /// Is it the transport's own, so that nobody waits for its end?
  bool is_silent() const { return kind != UcxKind::Eager && kind != UcxKind::Descriptor; }
};

/// A message of a process to itself.
struct UcxOwnMessage {
  UcxOperation* operation = nullptr;
  std::vector<std::byte> header;
  std::span<const std::byte> bytes;
  std::vector<std::byte> copy;  ///< the bytes of an eager message
};

/// A message, as UCX delivers it.
struct UcxArrival {
  std::span<const std::byte> header;
  void* data = nullptr;  ///< the bytes or, if they are at the sender, UCX's descriptor
  std::size_t bytes = 0;
  bool at_sender = false;
};

/// A descriptor that was shown to the receiver. Its bytes wait at the sender, or they are here already.
struct UcxWaiting {
  Peer from = 0;
  void* at_sender = nullptr;  ///< UCX's descriptor; null: the bytes are here
  std::size_t bytes = 0;
  UcxOperation* own = nullptr;  ///< the send that ends with it, if the process sends to itself
  std::span<const std::byte> here;
  std::vector<std::byte> copy;  ///< the bytes, if UCX brought them at once
  bool in_use = false;
};

/// What is known of a peer.
struct UcxLink {
  UcxTransport* owner = nullptr;
  Peer peer = 0;
  ucp_ep* endpoint = nullptr;
  std::size_t pending = 0;             ///< number of operations that have not ended
  int failure = 0;                     ///< a ucs_status_t; 0: it has not failed
  bool met = false;                    ///< one of the two has begun to connect to the other
  bool reaches = false;                ///< our connection to the peer is made
  bool greeted = false;                ///< our hello is on its way
  bool reached = false;                ///< the peer's connection to us is made: something has come through it
  bool departed = false;               ///< the peer has said goodbye
  bool owed = false;                   ///< our answer to the peer's goodbye is not sent yet
  bool heard = false;                  ///< the peer has answered our goodbye
  std::vector<UcxOperation*> put_off;  ///< sends that wait until the link is open
  Counters counters;

  bool is_open() const { return reaches && reached; }
};

/// Makes room, so that the vector can grow to `count` elements without an allocation.
template <class T>
void make_room(std::vector<T>& elements, std::size_t count) {
  if (elements.capacity() < count) elements.reserve(2 * count);
}

/// Objects that are used again. Their addresses do not change.
template <class T>
class UcxPool {
 public:
  T* take() {
    if (free_.empty()) {
      make_room(free_, all_.size() + 1);
      return &all_.emplace_back();
    }
    T* object = free_.back();
    free_.pop_back();
    return object;
  }
  void give_back(T* object) { free_.push_back(object); }
  std::size_t in_use() const { return all_.size() - free_.size(); }
  std::deque<T>& all() { return all_; }

 private:
  std::deque<T> all_;
  std::vector<T*> free_;
};

}  // namespace lacuna
