#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/values/call.hpp"
#include "runtime/values/counters.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// A process of the job, numbered by its rank in the world.
using Peer = std::uint32_t;

/// The longest header that a transport carries.
inline constexpr std::size_t max_header_bytes = 48;

/// How the bytes of a message travel: with the header, or fetched by the receiver when it has a place for them.
enum class Delivery : std::uint8_t { Eager, Descriptor };

/// Bytes that wait at their sender. The receiver ends each one by exactly one fetch, release or discard.
struct Descriptor {
  void* handle = nullptr;
  std::size_t bytes = 0;
  const std::byte* data = nullptr;  ///< where they can be read until the descriptor ends; null: they must be fetched
};

/// Identifies a pending operation for the caller. The transport gives it back when the operation has ended.
using Token = void*;

/// What a transport tells its owner. It does so inside progress() only, never inside send() or fetch().
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// An eager message has come. `header` and `bytes` are valid during the call only, and may lie at any address.
  virtual void on_message(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes) = 0;
  /// A message has come whose bytes wait at the sender. `header` is valid during the call only.
  virtual void on_descriptor(Peer from, std::span<const std::byte> header, Descriptor descriptor) = 0;
  /// A send or fetch that returned Pending has ended. Its memory is the caller's again, also if it has failed.
  virtual void on_complete(Token token, const Status& status) = 0;
  /// The connection to a peer is broken.
  virtual void on_peer_failure(Peer peer, const Status& status) = 0;
};

enum class Started : std::uint8_t { Done, Pending };

/// Who may still touch the memory of pending operations once this process makes no progress any more.
enum class Access : std::uint8_t {
  Nobody,
  Peers,   ///< other processes, as long as they make progress
  Devices  ///< network cards and the like, until this process ends
};

/// What becomes of a transport that is closed.
enum class Ending : std::uint8_t {
  TakeDown,
  /// What can't be taken down safely stays until the process ends. This is for jobs in which calls have failed: their
  /// connections may be half made, and UCX up to 1.13 aborts the process when it takes such a connection down.
  Leave
};

/// How bytes move between processes. Delivery is reliable; no order is promised between messages.
/// Thread rule: one thread at a time may call a transport; its owner holds a lock. Only close() blocks.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;
  /// What peers need to reach this process. Only a transport of the same kind can read it.
  virtual std::vector<std::byte> address() const = 0;
  /// Gives the transport the addresses of all processes, by rank, and the receiver that it calls. Connections are made
  /// when they are first used.
  virtual Status connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) = 0;
  /// Returns ok, or why this transport can't send from memory of this kind or receive into it.
  virtual Status viable(const Memory& memory) const = 0;
  /// The most bytes that an eager message may have, a multiple of 64. The caller cuts longer payloads.
  virtual std::size_t eager_limit() const = 0;

  /// Starts to send. If it returns Done, header and bytes may be reused at once, and `token` is not reported. If it
  /// returns Pending, both must live until on_complete(token). A Descriptor completes when the receiver has ended it.
  virtual Started send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Delivery delivery,
                       Token token) = 0;
  /// Can this peer read these bytes where they lie? Then it gets their address with a descriptor, and need not fetch
  /// them. A later answer may be another one, because the first question for some memory begins to prepare the peer.
  virtual bool is_mapped_by(Peer, std::span<const std::byte>) { return false; }
  /// Copies all bytes of a descriptor to `to`. If it returns Pending, they are there after on_complete(token).
  virtual Started fetch(Descriptor descriptor, std::byte* to, Token token) = 0;
  /// Ends a descriptor whose bytes have been read where they lie. The send completes.
  virtual void release(Descriptor descriptor) { discard(descriptor); }
  /// Ends a descriptor whose bytes nobody needs. The send completes.
  virtual void discard(Descriptor descriptor) = 0;
  /// Moves everything that can move, and calls the receiver. Returns true if anything has happened.
  virtual bool progress() = 0;

  /// A file descriptor, or -1 if there is none. After arm() has returned true it becomes readable when progress() may
  /// have something to do.
  virtual int event_fd() const = 0;
  /// Asks for an event. Returns false if something has arrived already: then call progress() first.
  virtual bool arm() = 0;

  /// What has gone to this peer and come from it. All numbers are 0 before connect().
  virtual Counters counters(Peer peer) const = 0;
  /// Completes what it can until the deadline, and then uses no memory of the caller any more: every pending token has
  /// been reported or is forgotten. No callback follows. It calls `pause` between rounds of progress. Once `pause`
  /// returns false it changes nothing more and returns; the caller then calls abandon().
  virtual Status close(std::chrono::milliseconds deadline, const std::function<bool()>& pause, Ending ending) = 0;
  /// Closes by Ending::TakeDown, with short sleeps for pauses.
  Status close(std::chrono::milliseconds deadline);
  /// Ends at once, without another round of progress: every pending token is forgotten. This is for the end of a job in
  /// which nothing is to move any more. No callback follows, and only counters() may be called. Returns who may still
  /// touch the memory of pending operations.
  virtual Access abandon() = 0;
};

inline Status Transport::close(std::chrono::milliseconds deadline) {
  const auto pause = [] {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    return true;
  };
  return close(deadline, pause, Ending::TakeDown);
}

}  // namespace lacuna
