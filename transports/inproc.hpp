#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transports/transport.hpp"

namespace lacuna {

/// How ranks inside one process exchange messages.
struct InprocOptions {
  /// Copied: an eager send is done at once. Referenced: the receiver reads the bytes in place at delivery, and the send
  /// is pending until then, as with zero copy.
  enum class Sends : std::uint8_t { Copied, Referenced };

  std::uint64_t seed = 0;  ///< 0: what is sent first arrives first; else all orders and delays are drawn from this seed
  bool reads_in_place = true;  ///< with a seed: every second descriptor brings the address of its bytes
  Sends sends = Sends::Copied;
  std::size_t eager_limit = 8192;  ///< a multiple of 64
};

/// Makes a transport for each rank. They reach each other through memory. Each may be used by a thread of its own, or
/// all in turn by one thread. With equal seeds and equal calls from one thread, everything happens in the same order
/// again. They may be closed and destroyed in any order, and close() never waits for a peer. An eager message to a
/// closed rank vanishes. A descriptor that a closed rank has made or received, or that is sent to it, ends at the other
/// side with PeerFailed.
std::vector<std::unique_ptr<Transport>> make_inproc(Rank size, const InprocOptions& options);

}  // namespace lacuna
