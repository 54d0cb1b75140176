#pragma once

#include <cstddef>

/// An array as a matrix, and its approximation by a product of two factors of few vectors. All of them have elements of
/// one type, f32 or f64.
namespace lacuna::kernels {

/// An array of `count` elements as a matrix. Rows follow one another. What the last row lacks counts as zeros. A factor
/// has `rank` vectors that follow one another: a left one of `rows` elements each, a right one of `columns`.
struct MatrixShape {
  static constexpr std::size_t most_rank = 4;

  std::size_t count = 0;
  std::size_t columns = 1;
  std::size_t rank = 1;  ///< 1 .. most_rank

  constexpr std::size_t rows() const { return (count + columns - 1) / columns; }
};

/// Two factors, and what their product is multiplied by.
struct Factors {
  MatrixShape shape{};
  const std::byte* left = nullptr;
  const std::byte* right = nullptr;
  double scale = 1;
};

/// What Backend::multiply_factors does with the product.
enum class ProductUse {
  Replaces,   ///< the array becomes the product
  Subtracts,  ///< the array loses the product; where this is no number, it becomes 0
};

}  // namespace lacuna::kernels
