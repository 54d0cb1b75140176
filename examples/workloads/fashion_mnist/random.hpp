#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lacuna::workloads {

/// The splitmix64 generator (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). It makes a
/// few numbers that are the same everywhere.
class SplitMix {
 public:
  /// Streams of different numbers under one seed are independent of each other.
  SplitMix(std::uint64_t seed, std::uint64_t stream) : state_(seed) {
    state_ = next() ^ (stream * 0xd1342543de82ef95U);
  }

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// Returns a uniform number in [0, bound), for bounds below 2^32.
  std::uint64_t below(std::uint64_t bound) { return ((next() >> 32) * bound) >> 32; }
  /// Returns a uniform number in [-1, 1).
  float signed_unit() { return static_cast<float>(static_cast<std::int64_t>(next()) >> 40) * 0x1p-23F; }

 private:
  std::uint64_t state_;
};

/// Returns the numbers 0 .. count-1 in the order of that epoch.
inline std::vector<std::uint32_t> permutation(std::uint64_t seed, std::uint64_t epoch, std::size_t count) {
  std::vector<std::uint32_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
  SplitMix random(seed, epoch);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace lacuna::workloads
