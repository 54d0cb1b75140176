#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/values/scale.hpp"

/// Sketches: tables in which many blocks of an array share few cells. They are linear: the sketch of a sum is the sum
/// of the sketches.
namespace lacuna::kernels {

/// The shape of a sketch. It has `rows` rows of `buckets` buckets, and a bucket has a cell for each of the `block`
/// elements of a block. Each row hashes the number of a block to one of its buckets and to a sign. Elements of one
/// block never share a cell, and their cells lie side by side. The hashes of a row are pairwise independent, and those
/// of different rows and seeds are independent of each other.
struct SketchShape {
  static constexpr std::size_t most_rows = 8;

  std::uint64_t seed = 0;
  std::size_t rows = 1;      ///< 1 .. most_rows
  std::size_t buckets = 1;   ///< of each row: 1 .. 2^32 - 1
  std::size_t block = 1;     ///< elements of a block
  bool signs_zeros = false;  ///< -0, whose sign no cell holds, counts as a NaN, so that its block is not peeled

  /// The cells of all rows. Row r begins at the cell r * buckets * block.
  constexpr std::size_t cells() const { return rows * buckets * block; }
};

/// How the estimates of the rows become one estimate.
enum class Estimate : std::uint8_t {
  Median,  ///< the number of rows is odd
  Mean,
};

/// What Backend::decode_sketch decodes, and how.
struct Decoding {
  const std::byte* map = nullptr;    ///< the blocks that are decoded
  const std::byte* table = nullptr;  ///< the sum of the sketches of all ranks
  Estimate estimate = Estimate::Median;
  Scale scale{};                         ///< the result is the estimate, scaled
  const std::byte* own_table = nullptr;  ///< the sketch of this rank; null: there is no residual
  std::byte* residual = nullptr;         ///< loses what the own sketch has brought to the estimate
  double contributed = 1;                ///< factor of what the residual loses
};

/// What Backend::peel_sketch works on.
struct Peeling {
  const std::byte* map = nullptr;  ///< the blocks that the sketch holds
  std::byte* left = nullptr;       ///< a map of those that could not be peeled
  std::uint32_t* room = nullptr;   ///< words_of_peeling()
  Scale scale{};                   ///< the result is the value of a block, scaled
};
/// The words of 32 bits that Backend::peel_sketch needs for a sketch of this shape.
constexpr std::size_t words_of_peeling(const SketchShape& shape) {
  return (6 + shape.rows) * shape.rows * shape.buckets;
}

/// What Backend::peel_sketch has done.
struct Peeled {
  std::uint64_t blocks = 0;  ///< how many blocks it has peeled
  std::uint64_t rounds = 0;  ///< how many rounds that took
};

}  // namespace lacuna::kernels
