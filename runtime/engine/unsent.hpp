#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine/arrived.hpp"
#include "runtime/values/group.hpp"

namespace lacuna::runtime {

/// Keeps which messages of one call this rank does not expect, because it has computed that they are empty. If one of
/// them comes after its part has ended, its sender has computed another length. It takes memory for each range of parts
/// that lack the same message, and keeps that memory when it is cleared. Its owner locks.
class Unsent {
 public:
  /// Message `index` of this process does not come in this part.
  void note(Rank source, std::uint32_t index, std::uint32_t part) {
    for (Lane& lane : lanes_) {
      if (lane.source == source && lane.index == index) return static_cast<void>(lane.parts.add(part, part + 1ull));
    }
    lanes_.push_back({.source = source, .index = index});
    lanes_.back().parts.add(part, part + 1ull);
  }
  bool has(Rank source, std::uint32_t index, std::uint32_t part) const {
    for (const Lane& lane : lanes_) {
      if (lane.source == source && lane.index == index) return lane.parts.has(part, part + 1ull);
    }
    return false;
  }
  void clear() {
    for (Lane& lane : lanes_) lane.parts.clear();
  }
  /// Returns true if nothing was ever noted.
  bool empty() const { return lanes_.empty(); }

 private:
  struct Lane {
    Rank source = 0;
    std::uint32_t index = 0;
    Arrived parts{};  ///< as ranges of numbers
  };

  std::vector<Lane> lanes_;
};

}  // namespace lacuna::runtime
