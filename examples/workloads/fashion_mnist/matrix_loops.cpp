#include "examples/workloads/fashion_mnist/matrix_loops.hpp"

namespace lacuna::workloads {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t width = 16;
#elif defined(__AVX2__)
constexpr std::size_t width = 8;
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA)
constexpr std::size_t width = 4;
#else
constexpr std::size_t width = 2;  // the number of floats that are computed together, in doubles
#endif
static_assert(width <= longest_vector);
constexpr std::size_t tile_vectors = 2;
constexpr std::size_t tile_columns = tile_vectors * width;

using Vector [[gnu::vector_size(width * sizeof(float))]] = float;

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
/// Returns sum + factor * row, rounded once, because this file is compiled with -ffp-contract=fast.
inline Vector fused(Vector sum, float factor, Vector row) { return sum + factor * row; }
#else
using Wide [[gnu::vector_size(width * sizeof(double))]] = double;
using Bits [[gnu::vector_size(width * sizeof(double))]] = unsigned long long;

/// Returns sum + factor * row, rounded once, on processors without such an instruction. In doubles the product is
/// exact, and so is the error of the sum. A sum that is not exact gets an odd last bit, towards the true sum, so that
/// rounding it once more rounds right (Boldo, Melquiond: Emulation of FMA and correctly rounded sums, 2008).
inline Vector fused(Vector sum, float factor, Vector row) {
  const Wide product = __builtin_convertvector(row, Wide) * static_cast<double>(factor);
  const Wide addend = __builtin_convertvector(sum, Wide);
  const Wide rounded = product + addend;
  const Wide back = rounded - product;
  const Wide error = (product - (rounded - back)) + (addend - back);
  const Bits bits = reinterpret_cast<Bits>(rounded);
  const Bits is_inexact = reinterpret_cast<Bits>((error < 0) | (error > 0));  // infinities and NaNs count as exact
  const Bits is_even = (bits & 1) - 1;
  const Bits points_down = (bits ^ reinterpret_cast<Bits>(error)) >> 63;  // the true sum is closer to zero
  const Bits odd = bits + (is_inexact & is_even & (1 - 2 * points_down));
  return __builtin_convertvector(reinterpret_cast<Wide>(odd), Vector);
}
#endif

/// A tile of C that stays in registers: `rows` rows of `vectors` vectors. `b` and `c` point to its first column.
template <std::size_t rows, std::size_t vectors>
void multiply_tile(Strided a, const float* b, std::size_t b_stride, float* c, std::size_t c_stride, std::size_t depth) {
  Vector sums[rows][vectors] = {};
  for (std::size_t k = 0; k < depth; ++k) {
    Vector row[vectors];
    for (std::size_t v = 0; v < vectors; ++v) __builtin_memcpy(&row[v], b + k * b_stride + v * width, sizeof(Vector));
    for (std::size_t r = 0; r < rows; ++r) {
      const float factor = a.data[r * a.row_stride + k * a.column_stride];
      for (std::size_t v = 0; v < vectors; ++v) sums[r][v] = fused(sums[r][v], factor, row[v]);
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v)
      __builtin_memcpy(c + r * c_stride + v * width, &sums[r][v], sizeof(Vector));
  }
}

/// Says where a strip of columns of B and C begins and how far apart their rows are.
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

void copy(const float* from, std::size_t count, float* to) { __builtin_memcpy(to, from, count * sizeof(float)); }

/// Computes the last columns, which are fewer than a vector holds, on copies in `room` that are filled up with zeros.
void multiply_edge(const Product& product, std::size_t column, std::size_t begin, std::size_t end, float* room) {
  const std::size_t columns = product.columns - column;
  float* const b = room;
  float* const c = room + product.depth * width;
  for (std::size_t k = 0; k < product.depth; ++k) {
    __builtin_memset(b + k * width, 0, width * sizeof(float));
    copy(product.b + k * product.columns + column, columns, b + k * width);
  }
  Strided a = product.a;
  a.data += begin * a.row_stride;
  multiply_strip<1>(a, {b, width, c, width}, 0, end - begin, product.depth);
  for (std::size_t i = begin; i < end; ++i) {
    copy(c + (i - begin) * width, columns, product.c + i * product.columns + column);
  }
}

}  // namespace

/// LACUNA_MULTIPLY is the function's name for the instruction set for which this file is compiled.
MultiplyRows LACUNA_MULTIPLY;
void LACUNA_MULTIPLY(const Product& product, std::size_t begin, std::size_t end, float* room) {
  std::size_t j = 0;
  for (; j + tile_columns <= product.columns; j += tile_columns) {
    multiply_strip<tile_vectors>(product.a, {product.b + j, product.columns, product.c + j, product.columns}, begin,
                                 end, product.depth);
  }
  for (; j + width <= product.columns; j += width) {
    multiply_strip<1>(product.a, {product.b + j, product.columns, product.c + j, product.columns}, begin, end,
                      product.depth);
  }
  if (j < product.columns) multiply_edge(product, j, begin, end, room);
}

}  // namespace lacuna::workloads
