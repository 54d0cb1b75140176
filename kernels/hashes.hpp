#pragma once

#include <Kokkos_Macros.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/sketches.hpp"
#include "runtime/values/philox.hpp"

namespace lacuna::kernels {

/// A bijection of 32-bit numbers, after which numbers that follow each other regularly look random. It is a
/// multiplicative xorshift of two rounds; the factors are those of Wellons' hash-prospector (2018).
KOKKOS_INLINE_FUNCTION std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}

/// The two hashes of one row of a sketch, of a mixed number. Each one is the upper part of a product and a sum modulo
/// 2^64, which is pairwise independent (Dietzfelbinger: Universal hashing and k-wise independent random variables via
/// integer arithmetic without primes, STACS 1996).
struct RowHash {
  std::uint64_t factor, addend;            // of the bucket
  std::uint64_t sign_factor, sign_addend;  // of the sign

  KOKKOS_INLINE_FUNCTION std::size_t bucket(std::uint32_t x, std::size_t buckets) const {
    return ((factor * x + addend) >> 32) * buckets >> 32;
  }
  KOKKOS_INLINE_FUNCTION bool is_negative(std::uint32_t x) const { return (sign_factor * x + sign_addend) >> 63 != 0; }
};

/// The hashes of all rows of a sketch.
struct RowHashes {
  RowHash rows[SketchShape::most_rows];

  explicit RowHashes(std::uint64_t seed) {
    std::uint32_t next = 0;
    const auto draw = [&] {
      const auto words =
          philox({next++, 0x5ce7c4u, 0, 0}, {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
      return std::uint64_t{words[0]} << 32 | words[1];
    };
    for (RowHash& row : rows) row = {draw(), draw(), draw(), draw()};
  }
};

}  // namespace lacuna::kernels
