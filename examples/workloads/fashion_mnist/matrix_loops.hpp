#pragma once

#include <cstddef>

/// The loops of matrix products, which are compiled once for each instruction set (cmake/instruction_sets.cmake).
/// Nothing that is included here defines a function that is not this file's own: the linker would take it for all
/// others.
namespace lacuna::workloads {

/// Element (i, j) lies at data[i * row_stride + j * column_stride], so that a transposed matrix is a view too.
struct Strided {
  const float* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t column_stride = 0;
};

/// C = A B, where A has rows x depth elements, B depth x columns and C rows x columns. B and C are stored by rows
/// without gaps.
struct Product {
  Strided a;
  const float* b = nullptr;
  float* c = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t depth = 0;
};

/// Rows of C that are computed together.
inline constexpr std::size_t row_tile = 8;

/// Floats in the longest vector of an instruction set.
inline constexpr std::size_t longest_vector = 16;

/// Floats that the loops need beside, for so many rows: for columns that fill no vector.
constexpr std::size_t edge_room(const Product& product, std::size_t rows) {
  return product.columns % longest_vector == 0 ? 0 : (product.depth + rows) * longest_vector;
}

/// Computes rows [begin, end) of C. `room` has edge_room() floats. Each element is summed over the depth in ascending
/// order, each product added to the sum with one rounding: all instruction sets give the same bits.
using MultiplyRows = void(const Product& product, std::size_t begin, std::size_t end, float* room);

}  // namespace lacuna::workloads
