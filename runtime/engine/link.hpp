#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "runtime/engine/pool.hpp"
#include "runtime/engine/run.hpp"

namespace lacuna::runtime {

/// A step of an active part.
struct StepOf {
  ActivePart* part = nullptr;
  StepId step = 0;
};

/// A descriptor whose bytes a started step wants.
struct Fetch {
  StepOf step;
  std::size_t offset = 0;
  Descriptor descriptor;
};

/// One queue for each priority class.
template <class T>
class Lanes {
 public:
  void push(Priority priority, T value) { lanes_[static_cast<std::size_t>(priority)].push(std::move(value)); }

  /// The lane that comes next; null when all are empty.
  Fifo<T>* next() {
    for (auto& lane : lanes_) {
      if (!lane.empty()) return &lane;
    }
    return nullptr;
  }
  template <class Predicate>
  void remove_if(Predicate matches) {
    for (auto& lane : lanes_) lane.remove_if(matches);
  }

 private:
  std::array<Fifo<T>, priorities> lanes_;
};

/// What this rank keeps about its traffic with one peer.
struct Link {
  std::int64_t credit = 0;         ///< eager bytes that the peer can still take; empty messages may overdraw it
  std::uint64_t returned = 0;      ///< eager bytes that the peer has consumed, as it has told
  std::uint64_t consumed = 0;      ///< eager bytes of the peer that were consumed here
  std::uint64_t told = 0;          ///< of these, what the peer knows
  std::uint64_t parked = 0;        ///< eager messages of the peer that wait here, as its credit counts them
  std::uint64_t parked_empty = 0;  ///< likewise, those without bytes
  std::size_t offered = 0;         ///< descriptors of the peer that wait here
  std::size_t on_wire = 0;         ///< eager bytes handed to the transport and not yet sent
  std::size_t fetching = 0;        ///< bytes being fetched from the peer
  bool needs_pump = false;         ///< something changed while a handler ran: look at the queues after it
  Lanes<StepOf> sends;
  Lanes<Fetch> fetches;
  std::optional<Clock::time_point> broken_since;
  Status broken;

  std::uint64_t& parked_of(std::uint64_t bytes) { return bytes > 0 ? parked : parked_empty; }
  std::uint64_t owed() const { return consumed - told; }
  /// For a header: what it returns as credit.
  std::uint64_t tell() { return told = consumed; }
};

}  // namespace lacuna::runtime
