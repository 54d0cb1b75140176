#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "runtime/pool.hpp"
#include "runtime/run.hpp"

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
  std::int64_t credit = 0;   ///< eager bytes that the peer can still take; signals may overdraw it
  std::uint64_t owed = 0;    ///< eager bytes of the peer that were consumed here and not yet returned as credit
  std::size_t on_wire = 0;   ///< eager bytes handed to the transport and not yet sent
  std::size_t fetching = 0;  ///< bytes being fetched from the peer
  bool needs_pump = false;   ///< something changed while a handler ran: look at the queues after it
  Lanes<StepOf> sends;
  Lanes<Fetch> fetches;
  std::optional<Clock::time_point> broken_since;
  Status broken;

  /// As much of what is owed as fits into a header.
  std::uint32_t take_owed() {
    const auto taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(owed, UINT32_MAX));
    owed -= taken;
    return taken;
  }
};

}  // namespace lacuna::runtime
