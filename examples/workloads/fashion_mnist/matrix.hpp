#pragma once

#include <cstddef>
#include <functional>

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

/// Computes rows [begin, end) of C, best in multiples of row_tile. Each element is summed over the depth in ascending
/// order, whatever the range.
void multiply(const Product& product, std::size_t begin, std::size_t end);

/// Called between pieces of work of some ten microseconds.
using Pause = std::function<void()>;

/// Computes all rows of C, with pauses.
void multiply(const Product& product, const Pause& pause);

/// to[j][i] = from[i][j] for a matrix of rows x columns elements, stored by rows.
void transpose(const float* from, std::size_t rows, std::size_t columns, float* to);

}  // namespace lacuna::workloads
