#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/landing.hpp"
#include "runtime/engine/link.hpp"
#include "runtime/engine/pool.hpp"
#include "runtime/engine/wire.hpp"

namespace lacuna::runtime {

/// What has come: a fragment of a message with its bytes, or a descriptor of them.
struct Arrival {
  Rank from = 0;
  MessageHeader header;
  std::size_t bytes = 0;
  bool eager = false;
};

/// How much one peer may let wait here.
struct LandingLimits {
  std::uint64_t credit_bytes = 0;    ///< of eager messages
  std::size_t most_descriptors = 0;  ///< of what it may have unfinished
};

/// The messages of all communicators that have come before their steps could take them. Its owner locks.
class Landings {
 public:
  /// What was ever kept.
  struct Tally {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
  };

  /// Descriptors that nobody wants are added to `discards`.
  Landings(const LandingLimits& limits, Links& links, BlockPool& memory, std::vector<Descriptor>& discards)
      : limits_(limits), links_(links), memory_(memory), discards_(discards) {}

  /// The credit that a message may use: without bytes it may overdraw.
  std::uint64_t granted(const Arrival& message) const {
    return limits_.credit_bytes + (message.header.bytes == 0 ? empty_allowance : 0);
  }
  std::uint64_t credit_bytes() const { return limits_.credit_bytes; }
  /// Of the credit for such messages, what this one's sender uses.
  std::uint64_t parked(const Arrival& message) const { return links_[message.from].parked_of(message.header.bytes); }

  /// A place for a message to wait in; null if its sender had no credit for it.
  Landing* park(const Arrival& message);
  /// Until the step takes them.
  void keep(Landing& landing, std::size_t offset, std::span<const std::byte> bytes);
  /// False if the peer has too many of them here.
  bool keep(Landing& landing, std::size_t offset, Descriptor descriptor);
  /// Gives a landing's memory back and its eager bytes as credit to the sender.
  void release(Landing* landing);
  /// Those that wait for steps of this run.
  void release_of(const Run& run);
  /// Finds a place for a landing that nobody has: it is released if there is no memory for that.
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
  BlockPool& memory_;  // of the host: eager bytes come there
  std::vector<Descriptor>& discards_;
  ObjectPool<Landing> pool_;
  Tally tally_;
};

}  // namespace lacuna::runtime
