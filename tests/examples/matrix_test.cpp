#include "examples/workloads/fashion_mnist/matrix.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "kernels/processor.hpp"

namespace lacuna::workloads {
namespace {

using Random = std::mt19937_64;

float draw_normal(Random& random) { return std::normal_distribution<float>()(random); }
/// Draws numbers of many magnitudes, so that sums cancel and underflow.
float draw_wide(Random& random) { return std::ldexp(draw_normal(random), static_cast<int>(random() % 120) - 100); }
/// Draws any bits, also NaNs, infinities and denormal numbers.
float draw_bits(Random& random) { return std::bit_cast<float>(static_cast<std::uint32_t>(random())); }

/// Draws numbers whose sums lie so close to the middle between two floats that a double is exactly that middle.
float draw_middles(Random& random) {
  constexpr float last = 0x1p-23F, half = 0x1p-24F;
  constexpr float values[] = {1, -1, 1 + last, -1 - last, 1 - last, half * (1 + last), half * (1 - last), -half};
  return values[random() % std::size(values)];
}

std::uint32_t bits_of(float value) {
  return std::isnan(value) ? ~std::uint32_t{0} : std::bit_cast<std::uint32_t>(value);
}

struct Matrices {
  std::size_t rows, columns, depth;
  std::vector<float> a, b;

  Matrices(Random& random, float (*draw)(Random&))
      : rows(1 + random() % 20), columns(1 + random() % 70), depth(random() % 40), a(rows * depth), b(depth * columns) {
    for (float& value : a) value = draw(random);
    for (float& value : b) value = draw(random);
  }
  Product into(std::vector<float>& c) const { return {{a.data(), depth, 1}, b.data(), c.data(), rows, columns, depth}; }
  float product_at(std::size_t i, std::size_t j) const {
    float sum = 0;
    for (std::size_t k = 0; k < depth; ++k) sum = std::fma(a[i * depth + k], b[k * columns + j], sum);
    return sum;
  }
};

/// Computes rows [begin, end), and expects no other rows to change.
void expect_fused_sums(const MatrixLoops& loops, const Matrices& matrices, std::size_t begin, std::size_t end) {
  std::vector<float> c(matrices.rows * matrices.columns, 7.0F);
  const Product product = matrices.into(c);
  std::vector<float> room(edge_room(product, end - begin));
  loops.multiply(product, begin, end, room.data());
  for (std::size_t i = 0; i < matrices.rows; ++i) {
    for (std::size_t j = 0; j < matrices.columns; ++j) {
      const float expected = i < begin || i >= end ? 7.0F : matrices.product_at(i, j);
      ASSERT_EQ(bits_of(c[i * matrices.columns + j]), bits_of(expected))
          << loops.instruction_set << ": element " << i << ", " << j << " of " << matrices.rows << " x "
          << matrices.columns << ", depth " << matrices.depth << ", rows " << begin << " to " << end;
    }
  }
}

TEST(Matrix, EachInstructionSetAddsEachProductWithOneRounding) {
  Random random(1);
  for (auto draw : {draw_normal, draw_wide, draw_bits, draw_middles}) {
    for (int trial = 0; trial < 100; ++trial) {
      const Matrices matrices(random, draw);
      for (const MatrixLoops& loops : matrix_loops()) {
        ASSERT_NO_FATAL_FAILURE(expect_fused_sums(loops, matrices, 0, matrices.rows));
      }
    }
  }
}

TEST(Matrix, EachInstructionSetComputesTheRowsThatItIsAskedForAndNoOthers) {
  Random random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const Matrices matrices(random, draw_normal);
    const std::size_t begin = random() % (matrices.rows + 1), end = begin + random() % (matrices.rows + 1 - begin);
    for (const MatrixLoops& loops : matrix_loops()) {
      ASSERT_NO_FATAL_FAILURE(expect_fused_sums(loops, matrices, begin, end));
    }
  }
}

TEST(Matrix, TheBestLoopsAreThoseOfTheBestInstructionSetThatThisProcessorRuns) {
  std::string_view best = matrix_loops().front().instruction_set;
  for (std::string_view level : {"x86-64-v3", "x86-64-v4"}) {
    if (kernels::runs(kernels::this_processor(), level)) best = level;
  }
  EXPECT_EQ(matrix_loops().back().instruction_set, best);
}

}  // namespace
}  // namespace lacuna::workloads
