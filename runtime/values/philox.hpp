#pragma once

#include <array>
#include <cstdint>

#include "runtime/values/digest.hpp"
#include "runtime/values/sampler.hpp"

namespace lacuna {

/// Philox4x32-10: four random words from a counter and a key, with no state (Salmon, Moraes, Dror, Shaw: Parallel
/// random numbers: as easy as 1, 2, 3; SC 2011).
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xd2511f53u} * counter[0];
    const std::uint64_t odd = std::uint64_t{0xcd9e8d57u} * counter[2];
    counter = {static_cast<std::uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(odd),
               static_cast<std::uint32_t>(even >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(even)};
    key = {key[0] + 0x9e3779b9u, key[1] + 0xbb67ae85u};
  }
  return counter;
}

/// A uniform integer in [0, bound) for one part of one random call: the same on all ranks that hold equal samplers, and
/// independent between parts, draws, keys and seeds. The key is Digest(seed, key), the counter (draw, part, which), for
/// parts that need several; the first 64 bits of the result times the bound, divided by 2^64: no value is off its share
/// by more than bound / 2^64. `bound` is at least 1.
constexpr std::uint32_t bounded_draw(const Sampler& sampler, std::uint32_t part, std::uint32_t bound,
                                     std::uint32_t which = 0) {
  const std::uint64_t key = Digest().add(sampler.seed).add(sampler.key).value();
  const std::array words =
      philox({static_cast<std::uint32_t>(sampler.draw), static_cast<std::uint32_t>(sampler.draw >> 32), part, which},
             {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
  const std::uint64_t low = std::uint64_t{words[0]} * bound;
  const std::uint64_t high = std::uint64_t{words[1]} * bound;
  return static_cast<std::uint32_t>((high + (low >> 32)) >> 32);
}

}  // namespace lacuna
