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

/// What a message is.
enum class UcxKind : std::uint8_t {
  Eager = 0,
  Descriptor = 1,
  Goodbye = 2,  ///< the sender closes, and has sent all that it will send
  Heard = 3,    ///< the answer: everything up to the goodbye has arrived
  Hello = 4     ///< the sender's connection is made: see UcxTransport::greet()
};

inline constexpr std::size_t ucx_kinds = 5;
inline constexpr std::size_t ucx_most_ranks = (std::size_t{1} << 16) / ucx_kinds;

/// The number under which UCX carries a message: it tells the receiver sender and kind, so that the caller's header
/// travels as it is.
constexpr unsigned ucx_message_id(Peer from, UcxKind kind) {
  return from * static_cast<unsigned>(ucx_kinds) + static_cast<unsigned>(kind);
}

/// A send or fetch, from its start to its report.
struct UcxOperation {
  UcxTransport* owner = nullptr;
  Token token = nullptr;
  Peer peer = 0;
  UcxKind kind = UcxKind::Eager;
  int status = 0;         ///< a ucs_status_t
  bool returned = false;  ///< from UCX's call that started it
  bool ended = false;
  std::size_t fetched = 0;                       ///< bytes that a fetch brings
  std::span<const std::byte> header{}, bytes{};  ///< of a send that waits until its link is open

  /// The transport's own: nobody waits for its end.
  bool is_silent() const { return kind != UcxKind::Eager && kind != UcxKind::Descriptor; }
};

/// A message of a process to itself.
struct UcxOwnMessage {
  UcxOperation* operation = nullptr;
  std::vector<std::byte> header;
  std::span<const std::byte> bytes;
  std::vector<std::byte> copy;  ///< of an eager one's bytes
};

/// A message as UCX brings it.
struct UcxArrival {
  std::span<const std::byte> header;
  void* data = nullptr;  ///< its bytes, or UCX's descriptor
  std::size_t bytes = 0;
  bool at_sender = false;
};

/// A descriptor that was shown to the receiver: one of UCX's, or bytes that are here already.
struct UcxWaiting {
  Peer from = 0;
  void* at_sender = nullptr;  ///< UCX's descriptor; null: the bytes are here
  std::size_t bytes = 0;
  UcxOperation* own = nullptr;  ///< the send to itself that it ends
  std::span<const std::byte> here;
  std::vector<std::byte> copy;  ///< of bytes that UCX brought at once
  bool in_use = false;
};

/// What is known of a peer.
struct UcxLink {
  UcxTransport* owner = nullptr;
  Peer peer = 0;
  ucp_ep* endpoint = nullptr;
  std::size_t pending = 0;             ///< operations
  int failure = 0;                     ///< a ucs_status_t; 0: none
  bool met = false;                    ///< we have reached out for it, or it for us
  bool reaches = false;                ///< our connection to it is made
  bool greeted = false;                ///< and our hello is on its way
  bool reached = false;                ///< its connection to us is made: something has come through it
  bool departed = false;               ///< it has said goodbye
  bool owed = false;                   ///< our answer to that is not out yet
  bool heard = false;                  ///< it has answered our goodbye
  std::vector<UcxOperation*> put_off;  ///< sends, until the link is open
  Counters counters;

  bool is_open() const { return reaches && reached; }
};

/// So that `count` elements can be pushed without an allocation.
template <class T>
void make_room(std::vector<T>& elements, std::size_t count) {
  if (elements.capacity() < count) elements.reserve(2 * count);
}

/// Objects that stay where they are, to be used again.
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
