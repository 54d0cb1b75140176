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

/// Longest header that a transport carries.
inline constexpr std::size_t max_header_bytes = 48;

/// How the bytes of a message travel: with the header, or fetched by the receiver when it has a place for them.
enum class Delivery : std::uint8_t { Eager, Descriptor };

/// Bytes that wait at their sender. Ended by exactly one fetch or discard.
struct Descriptor {
  void* handle = nullptr;
  std::size_t bytes = 0;
};

/// A pending operation of the caller; given back when it has ended.
using Token = void*;

/// What a transport tells its owner, from inside progress() only, never from inside send() or fetch().
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// An eager message. `header` and `bytes` are valid, and aligned to one byte only, during the call.
  virtual void on_message(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes) = 0;
  /// A message whose bytes wait at the sender. `header` is valid during the call.
  virtual void on_descriptor(Peer from, std::span<const std::byte> header, Descriptor descriptor) = 0;
  /// A send or fetch that returned Pending has ended: its memory is the caller's again, also when it failed.
  virtual void on_complete(Token token, const Status& status) = 0;
  /// The connection to a peer is broken.
  virtual void on_peer_failure(Peer peer, const Status& status) = 0;
};

enum class Started : std::uint8_t { Done, Pending };

/// Who can touch memory of pending operations although this process makes no progress any more.
enum class Access : std::uint8_t {
  Nobody,
  Peers,   ///< other processes, as long as they make progress
  Devices  ///< network cards and the like, until this process ends
};

/// What becomes of a transport that is closed. Leave: as much of it stays until this process ends as needs to, since
/// calls have failed and connections may be half made, which UCX up to 1.13 answers with an abort when they are taken
/// down.
enum class Ending : std::uint8_t { TakeDown, Leave };

/// How bytes move between processes. Delivery is reliable; no order is promised between messages. One thread at a time
/// may call a transport (its owner holds a lock); none of the calls blocks, but for wait() and close().
class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;
  /// What a peer needs to reach this process; opaque.
  virtual std::vector<std::byte> address() const = 0;
  /// Tells the addresses of all processes, by rank, and who receives. Connections are made at first use.
  virtual Status connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) = 0;
  /// Ok, or why memory of this kind can't be served.
  virtual Status viable(const Memory& memory) const = 0;
  /// Most bytes of an eager message; a multiple of 64. Longer eager payloads are the caller's to cut.
  virtual std::size_t eager_limit() const = 0;

  /// Starts sending. Done: header and bytes may be reused at once, and `token` is not reported. Pending: both must live
  /// until on_complete(token). A Descriptor completes when the receiver has fetched or discarded it.
  virtual Started send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Delivery delivery,
                       Token token) = 0;
  /// Brings all bytes of a descriptor to `to`. Done, or Pending until on_complete(token).
  virtual Started fetch(Descriptor descriptor, std::byte* to, Token token) = 0;
  /// Lets go of a descriptor without its bytes; its sender completes.
  virtual void discard(Descriptor descriptor) = 0;
  /// Moves everything that can move and calls the receiver. True if anything happened.
  virtual bool progress() = 0;

  /// Readable when progress() may have something to do, after arm() returned true. -1 if there is none.
  virtual int event_fd() const = 0;
  /// Asks for an event. False: something has arrived already; call progress() first.
  virtual bool arm() = 0;

  /// Zeros before connect().
  virtual Counters counters(Peer peer) const = 0;
  /// Flushes what can be flushed until the deadline, then lets go of all memory of the caller: every pending token is
  /// reported or forgotten. No callback follows. Calls `pause` between two looks at the wire; once that returns false,
  /// it leaves all as it is, for abandon().
  virtual Status close(std::chrono::milliseconds deadline, const std::function<bool()>& pause, Ending ending) = 0;
  Status close(std::chrono::milliseconds deadline);
  /// Lets go at once, without another look at the wire: every pending token is forgotten. For the end of a job in which
  /// nothing is to move any more. No callback follows, and no call but counters(). Says who may still touch the memory
  /// of pending operations.
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
