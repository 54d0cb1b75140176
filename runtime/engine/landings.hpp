#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/landing.hpp"
#include "runtime/engine/link.hpp"
#include "runtime/engine/memory_pools.hpp"
#include "runtime/engine/pool.hpp"
#include "runtime/engine/wire.hpp"

namespace lacuna::runtime {

/// A fragment of a message that has come: its bytes, or a descriptor of them.
struct Arrival {
  Rank from = 0;
  MessageHeader header;
  std::size_t bytes = 0;
  bool eager = false;
};

/// How much one peer may let wait here.
struct LandingLimits {
  std::uint64_t credit_bytes = 0;    ///< of eager messages
  std::size_t most_descriptors = 0;  ///< descriptors of the peer that may wait here
};

/// The messages of all communicators that have come before their steps could take them. Its owner locks.
class Landings {
 public:
  /// Counts all that was kept since the beginning.
  struct Tally {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
  };

  /// Descriptors that nobody wants are added to `discards`.
  Landings(const LandingLimits& limits, Links& links, MemoryPools& memory, std::vector<Descriptor>& discards)
      : limits_(limits), links_(links), memory_(memory), discards_(discards) {}

  /// Returns the credit that a message's sender has. A message without bytes may overdraw it.
  std::uint64_t granted(const Arrival& message) const {
    return limits_.credit_bytes + (message.header.bytes == 0 ? empty_allowance : 0);
  }
  std::uint64_t credit_bytes() const { return limits_.credit_bytes; }
  /// Returns how much of the credit for messages like this one its sender has in use.
  std::uint64_t parked(const Arrival& message) const { return links_[message.from].parked_of(message.header.bytes); }

  /// Returns a landing in which a message can wait, or null if its sender had no credit for it.
  Landing* park(const Arrival& message);
  /// Keeps bytes until the step takes them.
  void keep(Landing& landing, std::size_t offset, std::span<const std::byte> bytes);
  /// Keeps a descriptor. Returns false if too many of the peer's descriptors wait here.
  bool keep(Landing& landing, std::size_t offset, Descriptor descriptor);
  /// Gives a landing's memory back, and credit for its eager bytes to the sender.
  void release(Landing* landing);
  /// Releases the landings that wait for steps of this run, or for parts of it.
  void release_of(Run& run);
  /// Calls `body`, which puts a new landing where it belongs. If there is no memory for that, the landing is released.
  template <class Body>
  void give(Landing* landing, Body body) {
    try {
      body();
    } catch (...) {
      if (landing) release(landing);
      throw;
    }
  }

  std::size_t in_use() const { return pool_.in_use(); }
  const Tally& tally() const { return tally_; }

 private:
  const LandingLimits limits_;
  Links& links_;
  MemoryPools& memory_;
  std::vector<Descriptor>& discards_;
  ObjectPool<Landing> pool_;
  Tally tally_;
};

}  // namespace lacuna::runtime
