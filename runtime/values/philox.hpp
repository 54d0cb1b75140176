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

/// A uniform integer in [0, bound) for one part of one random call. It is the same on all ranks that hold equal
/// samplers, and independent between parts, draws, keys and seeds. `which` numbers the integers of a part that needs
/// several. `bound` must be at least 1.
///
/// The key of philox is Digest(seed, key), and its counter is (draw, part, which). The first 64 bits of the result are
/// multiplied by the bound and divided by 2^64. So the probability of each integer is wrong by less than 1 / 2^64.
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
