#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "transports/transport.hpp"

struct ucp_ep;

namespace lacuna {

class UcxTransport;

/// What a message is. Stands with the sender's rank in the word that leads every header.
enum class UcxKind : std::uint32_t {
  Eager = 0,
  Descriptor = 1,
  Goodbye = 2,  ///< the sender closes, and has sent all that it will send
  Heard = 3     ///< the answer: everything up to the goodbye has arrived
};

inline constexpr unsigned ucx_message_id = 0;  ///< of UCX's active messages; there is one
inline constexpr unsigned ucx_rank_bits = 30;
inline constexpr std::size_t ucx_word_bytes = sizeof(std::uint32_t);
inline constexpr std::size_t ucx_header_bytes = ucx_word_bytes + max_header_bytes;

/// A send or fetch, from its start to its report.
struct UcxOperation {
  UcxTransport* owner = nullptr;
  Token token = nullptr;
  Peer peer = 0;
  int status = 0;         ///< a ucs_status_t
  bool silent = false;    ///< the transport's own: nobody waits for its end
  bool returned = false;  ///< from UCX's call that started it
  bool ended = false;
  std::size_t fetched = 0;
  std::size_t header_bytes = 0;
  std::array<std::byte, ucx_header_bytes> header;
  std::span<const std::byte> bytes;  ///< of a message to itself
  std::vector<std::byte> copy;       ///< of an eager one's

  void reset(UcxTransport* by, Peer to, Token callers) {
    owner = by;
    token = callers;
    peer = to;
    status = 0;
    silent = returned = ended = false;
    fetched = 0;
  }
  void write_header(Peer from, UcxKind kind, std::span<const std::byte> callers) {
    const std::uint32_t word = from | static_cast<std::uint32_t>(kind) << ucx_rank_bits;
    std::memcpy(header.data(), &word, ucx_word_bytes);
    if (!callers.empty()) std::memcpy(header.data() + ucx_word_bytes, callers.data(), callers.size());
    header_bytes = ucx_word_bytes + callers.size();
  }
  UcxKind kind() const {
    std::uint32_t word = 0;
    std::memcpy(&word, header.data(), ucx_word_bytes);
    return static_cast<UcxKind>(word >> ucx_rank_bits);
  }
  std::span<const std::byte> callers_header() const {
    return std::span(header).first(header_bytes).subspan(ucx_word_bytes);
  }
};

/// A descriptor that was shown to the receiver: one of UCX's, or bytes that are here already.
struct UcxWaiting {
  Peer from = 0;
  void* at_sender = nullptr;  ///< UCX's descriptor; null: the bytes are here
  std::size_t bytes = 0;
  UcxOperation* own = nullptr;  ///< the send to itself that it ends
  std::vector<std::byte> copy;  ///< of bytes that UCX brought at once
  bool in_use = false;
};

/// What is known of a peer.
struct UcxLink {
  UcxTransport* owner = nullptr;
  Peer peer = 0;
  ucp_ep* endpoint = nullptr;
  std::size_t pending = 0;  ///< operations
  int failure = 0;          ///< a ucs_status_t; 0: none
  bool met = false;         ///< messages have passed
  bool departed = false;    ///< it has said goodbye
  bool owed = false;        ///< our answer to that is not out yet
  bool heard = false;       ///< it has answered our goodbye
  Counters counters;
};

/// Objects that stay where they are, to be used again.
template <class T>
class UcxPool {
 public:
  T* take() {
    if (free_.empty()) free_.push_back(&all_.emplace_back());
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
