#include "examples/workloads/fashion_mnist/matrix.hpp"

#include <algorithm>
#include <vector>

#include "kernels/processor.hpp"

namespace lacuna::workloads {

#if defined(__x86_64__)
MultiplyRows multiply_x86_64, multiply_x86_64_v3, multiply_x86_64_v4;
#else
MultiplyRows multiply_host;
#endif

namespace {

constexpr std::size_t products_between_pauses = 1 << 17;  // some ten microseconds

/// A processor that runs one of these also runs those before it.
constexpr MatrixLoops all_loops[] = {
#if defined(__x86_64__)
    {"x86-64", multiply_x86_64},
    {"x86-64-v3", multiply_x86_64_v3},
    {"x86-64-v4", multiply_x86_64_v4},
#else
    {"host", multiply_host},
#endif
};

std::size_t count_loops() {
  const kernels::ProcessorFeatures features = kernels::this_processor();
  std::size_t count = 1;
  while (count < std::size(all_loops) && kernels::runs(features, all_loops[count].instruction_set)) ++count;
  return count;
}

}  // namespace

std::span<const MatrixLoops> matrix_loops() {
  static const std::size_t count = count_loops();
  return {all_loops, count};
}

void multiply(const Product& product, std::size_t begin, std::size_t end) {
  std::vector<float> room(edge_room(product, end - begin));
  matrix_loops().back().multiply(product, begin, end, room.data());
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
