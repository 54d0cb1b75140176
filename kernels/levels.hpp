#pragma once

#include <cstddef>
#include <cstdint>

/// Messages in which an element is a small whole number of spacings.
namespace lacuna::kernels {

/// How an array is written as levels. Elements are cut into blocks. A block has a spacing, which is the least power of
/// two by which no level is too large. An element is its level times the spacing. First come the spacings, a byte for
/// each: b stands for 2^(b-127), and 255 for a block with an infinity or a NaN, whose elements all become NaNs (E8M0 of
/// the Open Compute Project: OCP microscaling formats, 2023). Spacings are 2^-126 to 2^126. Then come the levels in
/// two's complement. Of two levels of 4 bits that share a byte, the first one has the lower bits; bits beyond the last
/// level are 0.
struct LevelsShape {
  int bits = 8;            ///< of a level: 8 or 4
  std::size_t block = 64;  ///< elements of a block, a multiple of 4; the last block may be shorter

  /// The largest level. The least is minus that.
  constexpr int most() const { return (1 << (bits - 1)) - 1; }
  constexpr std::size_t blocks(std::size_t count) const { return (count + block - 1) / block; }
  /// The length of the message of so many elements.
  constexpr std::size_t message_bytes(std::size_t count) const {
    return blocks(count) + (count * static_cast<std::size_t>(bits) + 7) / 8;
  }
};

/// Random numbers that depend on nothing but these: philox of the counter (draw, number / 4), with this key. Different
/// keys and draws give independent numbers.
struct RandomStream {
  std::uint64_t key = 0, draw = 0;
};

}  // namespace lacuna::kernels
