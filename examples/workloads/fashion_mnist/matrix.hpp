#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "examples/workloads/fashion_mnist/matrix_loops.hpp"

namespace lacuna::workloads {

/// Loops that this processor runs, and the instruction set for which they are compiled.
struct MatrixLoops {
  std::string_view instruction_set;
  MultiplyRows* multiply;
};

/// Returns all loops that this processor runs, the best last. multiply() takes the last.
std::span<const MatrixLoops> matrix_loops();

/// Computes rows [begin, end) of C. Multiples of row_tile are fastest. Each element is summed over the depth in
/// ascending order, whatever the range and the processor.
void multiply(const Product& product, std::size_t begin, std::size_t end);

/// A function that is called between pieces of work of some ten microseconds.
using Pause = std::function<void()>;

/// Computes all rows of C, with pauses.
void multiply(const Product& product, const Pause& pause);

/// to[j][i] = from[i][j] for a matrix of rows x columns elements, stored by rows.
void transpose(const float* from, std::size_t rows, std::size_t columns, float* to);

}  // namespace lacuna::workloads
