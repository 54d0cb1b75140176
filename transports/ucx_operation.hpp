#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "runtime/values/mappable_heap.hpp"
#include "transports/mapped_segment.hpp"
#include "transports/transport.hpp"

struct ucp_ep;

namespace lacuna {

class UcxTransport;

/// The kinds of messages.
enum class UcxKind : std::uint8_t {
  Eager = 0,
  Descriptor = 1,
  Mapped = 2,  ///< a descriptor of bytes that the receiver has mapped: its payload is a UcxMappedBytes
  Control = 3  ///< what one transport tells the other: its header is a UcxControl
};

inline constexpr std::size_t ucx_kinds = 4;
inline constexpr std::size_t ucx_most_ranks = (std::size_t{1} << 16) / ucx_kinds;

/// The number under which UCX carries a message. It tells the receiver who the sender is and which kind of message this
/// is, so that the caller's header travels as it is.
constexpr unsigned ucx_message_id(Peer from, UcxKind kind) {
  return from * static_cast<unsigned>(ucx_kinds) + static_cast<unsigned>(kind);
}

/// What a transport tells another one: the header of a Control message.
struct UcxControl {
  enum class Word : std::uint8_t {
    Hello,     ///< the sender's connection to the receiver is made: see UcxTransport::greet()
    Goodbye,   ///< the sender closes, and has sent all that it will send
    Heard,     ///< the answer to a goodbye: everything before it has arrived
    Offer,     ///< the receiver may map `segment`, the sender's segment of this number
    Mapped,    ///< the answer to the offer of this number: the segment is mapped
    Unmapped,  ///< the answer to the offer of this number: the segment can't be mapped
    Ended      ///< the receiver of the Mapped message `operation` does not read its bytes any more
  };

  Word word = Word::Hello;
  std::uint32_t number = 0;
  std::uint64_t operation = 0;
  MappableSegment segment{};
};

static_assert(sizeof(UcxControl) <= max_header_bytes);

/// Where the bytes of a Mapped message lie in the sender's memory.
struct UcxMappedBytes {
  std::uint32_t segment = 0;
  std::uint32_t unused = 0;
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t operation = 0;  ///< the sender's name for the message
};

/// What is added to the name of an operation each time that it is used again.
inline constexpr std::uint64_t ucx_next_use = std::uint64_t{1} << 32;

/// A send or a fetch, from its start to its report.
struct UcxOperation {
  UcxTransport* owner = nullptr;  ///< null: nobody uses it
  Token token = nullptr;
  Peer peer = 0;
  UcxKind kind = UcxKind::Eager;
  int status = 0;         ///< a ucs_status_t
  bool returned = false;  ///< UCX's function that starts it has returned
  bool ended = false;
  std::uint64_t name = 0;   ///< its place among all operations, from 1, and ucx_next_use for each use of that place
  std::size_t fetched = 0;  ///< number of bytes that a fetch brings
  std::span<const std::byte> header{}, bytes{};  ///< only of a send that waits until its link is open
  UcxControl control{};                          ///< the header of a Control message
  UcxMappedBytes mapped{};                       ///< the payload of a Mapped message
  bool is_read = false;                          ///< the receiver has ended a Mapped message

  /// Is it the transport's own, so that nobody waits for its end?
  bool is_silent() const { return kind == UcxKind::Control; }
  bool is_hello() const { return kind == UcxKind::Control && control.word == UcxControl::Word::Hello; }
  /// Is it the answer to a peer's goodbye?
  bool answers_goodbye() const { return kind == UcxKind::Control && control.word == UcxControl::Word::Heard; }
  /// Is there nothing more to wait for?
  bool is_over() const { return ended && (status != 0 || kind != UcxKind::Mapped || is_read); }
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
  std::vector<std::byte> copy{};  ///< the bytes, if UCX brought them at once
  std::uint64_t mapped = 0;       ///< the sender's name of a Mapped message; 0: it is none
  bool in_use = false;

  Descriptor descriptor() { return {this, bytes, here.empty() ? nullptr : here.data()}; }
};

/// What has become of a segment that this process can offer to a peer.
enum class UcxOffer : std::uint8_t { None, Asked, Mapped, Unmapped };

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
  bool is_near = false;                ///< the peer is on this host
  std::vector<UcxOperation*> put_off;  ///< sends that wait until the link is open
  std::vector<UcxOffer> offers;        ///< by number of a segment of this process
  std::map<std::uint32_t, MappedSegment> segments;  ///< of the peer, by number
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
  const std::deque<T>& all() const { return all_; }

 private:
  std::deque<T> all_;
  std::vector<T*> free_;
};

}  // namespace lacuna
