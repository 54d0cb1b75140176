#include "examples/workloads/fashion_mnist/matrix.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace lacuna::workloads {
namespace {

#ifdef __AVX512F__
constexpr std::size_t width = 16;
#else
constexpr std::size_t width = 8;
#endif
constexpr std::size_t tile_vectors = 2;
constexpr std::size_t tile_columns = tile_vectors * width;
constexpr std::size_t products_between_pauses = 1 << 17;  // some ten microseconds

using Vector [[gnu::vector_size(width * sizeof(float))]] = float;

/// A tile of C that stays in registers: `rows` rows of `vectors` vectors. `b` and `c` point to its first column.
template <std::size_t rows, std::size_t vectors>
void multiply_tile(Strided a, const float* b, std::size_t b_stride, float* c, std::size_t c_stride, std::size_t depth) {
  Vector sums[rows][vectors] = {};
  for (std::size_t k = 0; k < depth; ++k) {
    Vector row[vectors];
    for (std::size_t v = 0; v < vectors; ++v) std::memcpy(&row[v], b + k * b_stride + v * width, sizeof(Vector));
    for (std::size_t r = 0; r < rows; ++r) {
      const float factor = a.data[r * a.row_stride + k * a.column_stride];
      for (std::size_t v = 0; v < vectors; ++v) sums[r][v] += factor * row[v];
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v) std::memcpy(c + r * c_stride + v * width, &sums[r][v], sizeof(Vector));
  }
}

/// Where a strip of columns of B and C begins and how far apart their rows are.
struct Strip {
  const float* b = nullptr;
  std::size_t b_stride = 0;
  float* c = nullptr;
  std::size_t c_stride = 0;
};

template <std::size_t vectors>
void multiply_strip(Strided a, const Strip& strip, std::size_t begin, std::size_t end, std::size_t depth) {
  std::size_t i = begin;
  const auto rest = [&] { return Strided{a.data + i * a.row_stride, a.row_stride, a.column_stride}; };
  for (; i + row_tile <= end; i += row_tile) {
    multiply_tile<row_tile, vectors>(rest(), strip.b, strip.b_stride, strip.c + i * strip.c_stride, strip.c_stride,
                                     depth);
  }
  for (; i < end; ++i) {
    multiply_tile<1, vectors>(rest(), strip.b, strip.b_stride, strip.c + i * strip.c_stride, strip.c_stride, depth);
  }
}

/// The last columns, fewer than a vector holds: computed on copies that are filled up with zeros.
void multiply_edge(const Product& product, std::size_t column, std::size_t begin, std::size_t end) {
  const std::size_t columns = product.columns - column;
  std::vector<float> b(product.depth * width);
  std::vector<float> c((end - begin) * width);
  for (std::size_t k = 0; k < product.depth; ++k) {
    std::copy_n(product.b + k * product.columns + column, columns, b.data() + k * width);
  }
  Strided a = product.a;
  a.data += begin * a.row_stride;
  multiply_strip<1>(a, {b.data(), width, c.data(), width}, 0, end - begin, product.depth);
  for (std::size_t i = begin; i < end; ++i) {
    std::copy_n(c.data() + (i - begin) * width, columns, product.c + i * product.columns + column);
  }
}

}  // namespace

void multiply(const Product& product, std::size_t begin, std::size_t end) {
  std::size_t j = 0;
  const auto strip = [&] { return Strip{product.b + j, product.columns, product.c + j, product.columns}; };
  for (; j + tile_columns <= product.columns; j += tile_columns) {
    multiply_strip<tile_vectors>(product.a, strip(), begin, end, product.depth);
  }
  for (; j + width <= product.columns; j += width) {
    multiply_strip<1>(product.a, strip(), begin, end, product.depth);
  }
  if (j < product.columns) multiply_edge(product, j, begin, end);
}

void multiply(const Product& product, const Pause& pause) {
  const std::size_t tiles = products_between_pauses / (row_tile * product.columns * product.depth);
  const std::size_t rows = std::max<std::size_t>(tiles, 1) * row_tile;
  for (std::size_t row = 0; row < product.rows; row += rows) {
    multiply(product, row, std::min(row + rows, product.rows));
    pause();
  }
}

void transpose(const float* from, std::size_t rows, std::size_t columns, float* to) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
}

}  // namespace lacuna::workloads
