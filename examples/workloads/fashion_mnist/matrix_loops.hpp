#pragma once

#include <cstddef>

/// The loops of matrix products, which are compiled once for each instruction set (cmake/instruction_sets.cmake).
/// Nothing that is included here may define a function that several files share, because the linker would take one of
/// its versions for all of them.
namespace lacuna::workloads {

/// Element (i, j) lies at data[i * row_stride + j * column_stride], so that a transposed matrix is a view too.
struct Strided {
  const float* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t column_stride = 0;
};

/// C = A B, where A has rows x depth elements, B depth x columns and C rows x columns. B and C are stored by rows, with
/// nothing between them.
struct Product {
  Strided a;
  const float* b = nullptr;
  float* c = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t depth = 0;
};

/// How many rows of C are computed together.
inline constexpr std::size_t row_tile = 8;

/// How many floats the longest vector of an instruction set has.
inline constexpr std::size_t longest_vector = 16;

/// Returns how many floats of `room` the loops need for that many rows. They need it for columns that fill no vector.
constexpr std::size_t edge_room(const Product& product, std::size_t rows) {
  return product.columns % longest_vector == 0 ? 0 : (product.depth + rows) * longest_vector;
}

/// Computes rows [begin, end) of C. `room` has edge_room() floats. Each element is summed over the depth in ascending
/// order, and each product is added to the sum with one rounding. So all instruction sets give the same bits.
using MultiplyRows = void(const Product& product, std::size_t begin, std::size_t end, float* room);

}  // namespace lacuna::workloads
