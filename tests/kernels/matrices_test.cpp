#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/selection.hpp"

namespace lacuna::test {
namespace {

using kernels::MatrixShape;
using kernels::ProductUse;

constexpr MatrixShape shapes[] = {{1, 1, 1},       {10, 3, 1},     {100, 10, 2}, {1031, 33, 3},
                                  {4096, 64, 4},   {4097, 65, 4},  {7, 100, 2},  {5000, 1, 1},
                                  {2000, 2000, 3}, {6000, 129, 4}, {1, 70, 4}};
constexpr Dtype dtypes[] = {Dtype::F32, Dtype::F64};

/// Small whole numbers, whose products and sums are exact.
Elements whole_numbers(Dtype dtype, std::size_t count, unsigned seed) {
  Random random(seed);
  Elements all(count);
  for (std::uint64_t& one : all) one = oracle::encode(dtype, static_cast<double>(random() % 15) - 7);
  return all;
}

std::vector<double> numbers_of(Dtype dtype, Block& block, std::size_t count) {
  std::vector<double> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = oracle::decode(dtype, element(dtype, block.data(), i));
  return all;
}

/// A matrix and its factors.
struct Given {
  Given(Dtype type, const MatrixShape& of)
      : dtype(type),
        shape(of),
        matrix(block_of(type, whole_numbers(type, of.count, 1), 1)),
        left(block_of(type, whole_numbers(type, of.rank * of.rows(), 2), 3)),
        right(block_of(type, whole_numbers(type, of.rank * of.columns, 3), 5)) {}

  double at(std::size_t i, std::size_t j) {
    const std::size_t place = i * shape.columns + j;
    return place < shape.count ? oracle::decode(dtype, element(dtype, matrix.data(), place)) : 0;
  }
  double left_at(std::size_t k, std::size_t i) {
    return oracle::decode(dtype, element(dtype, left.data(), k * shape.rows() + i));
  }
  double right_at(std::size_t k, std::size_t j) {
    return oracle::decode(dtype, element(dtype, right.data(), k * shape.columns + j));
  }
  bool guards_hold() const { return matrix.guards_hold() && left.guards_hold() && right.guards_hold(); }

  Dtype dtype;
  MatrixShape shape;
  Block matrix, left, right;
};

TEST(Matrices, TimesARightFactorAreTheSumsOverRows) {
  for (Dtype dtype : dtypes) {
    for (const MatrixShape& shape : shapes) {
      Given given(dtype, shape);
      tested().multiply_by_right(shape, {dtype, given.matrix.data(), shape.count}, given.right.data(),
                                 given.left.data());
      for (std::size_t k = 0; k < shape.rank; ++k) {
        for (std::size_t i = 0; i < shape.rows(); ++i) {
          double sum = 0;
          for (std::size_t j = 0; j < shape.columns; ++j) sum += given.at(i, j) * given.right_at(k, j);
          ASSERT_EQ(given.left_at(k, i), sum) << shape.count << " in " << shape.columns;
        }
      }
      ASSERT_TRUE(given.guards_hold());
    }
  }
}

TEST(Matrices, TimesALeftFactorAreTheSumsOverColumns) {
  for (Dtype dtype : dtypes) {
    for (const MatrixShape& shape : shapes) {
      Given given(dtype, shape);
      tested().multiply_by_left(shape, {dtype, given.matrix.data(), shape.count}, given.left.data(),
                                given.right.data());
      for (std::size_t k = 0; k < shape.rank; ++k) {
        for (std::size_t j = 0; j < shape.columns; ++j) {
          double sum = 0;
          for (std::size_t i = 0; i < shape.rows(); ++i) sum += given.at(i, j) * given.left_at(k, i);
          ASSERT_EQ(given.right_at(k, j), sum) << shape.count << " in " << shape.columns;
        }
      }
      ASSERT_TRUE(given.guards_hold());
    }
  }
}

TEST(Matrices, BecomeTheProductOfTheirFactorsOrLoseIt) {
  for (Dtype dtype : dtypes) {
    for (const MatrixShape& shape : shapes) {
      for (ProductUse does : {ProductUse::Replaces, ProductUse::Subtracts}) {
        Given given(dtype, shape), before = given;
        tested().multiply_factors({shape, given.left.data(), given.right.data(), 0.5}, does,
                                  {dtype, given.matrix.data(), shape.count});
        for (std::size_t place = 0; place < shape.count; ++place) {
          const std::size_t i = place / shape.columns, j = place % shape.columns;
          double product = 0;
          for (std::size_t k = 0; k < shape.rank; ++k) product += given.left_at(k, i) * given.right_at(k, j);
          product *= 0.5;
          const double expected = does == ProductUse::Replaces ? product : before.at(i, j) - product;
          ASSERT_EQ(given.at(i, j), expected) << shape.count << " in " << shape.columns;
        }
        ASSERT_TRUE(given.guards_hold());
      }
    }
  }
}

TEST(Matrices, LoseNoInfinityAndNoNan) {
  const MatrixShape shape{4, 2, 1};
  Block matrix = block_of(Dtype::F32,
                          Elements{oracle::encode(Dtype::F32, HUGE_VAL), oracle::encode(Dtype::F32, 1),
                                   oracle::encode(Dtype::F32, std::nan("")), oracle::encode(Dtype::F32, 5)},
                          0);
  const Elements ones(2, oracle::encode(Dtype::F32, 1));
  Block left = block_of(Dtype::F32, ones, 0), right = block_of(Dtype::F32, ones, 0);
  tested().multiply_factors({shape, left.data(), right.data()}, ProductUse::Subtracts, {Dtype::F32, matrix.data(), 4});
  EXPECT_EQ(numbers_of(Dtype::F32, matrix, 4), (std::vector<double>{0, 0, 0, 4}));
}

double product_of(const std::vector<double>& all, std::size_t length, std::size_t a, std::size_t b) {
  double sum = 0;
  for (std::size_t i = 0; i < length; ++i) sum += all[a * length + i] * all[b * length + i];
  return sum;
}

using Sums = std::vector<double>;

TEST(Factors, BecomeOrthonormalAndSpanTheSame) {
  for (Dtype dtype : dtypes) {
    const double precision = dtype == Dtype::F32 ? 1e-5 : 1e-13;
    for (std::size_t vectors = 1; vectors <= 4; ++vectors) {
      for (std::size_t length : {4u, 17u, 257u, 5000u}) {
        Block factor = block_of(dtype, drawn(draw_normal, dtype, vectors * length), 1);
        const std::vector<double> before = numbers_of(dtype, factor, vectors * length);
        tested().orthonormalize(vectors, {dtype, factor.data(), vectors * length}, Sums(3).data());
        const std::vector<double> after = numbers_of(dtype, factor, vectors * length);
        for (std::size_t a = 0; a < vectors; ++a) {
          for (std::size_t b = 0; b < vectors; ++b) {
            EXPECT_NEAR(product_of(after, length, a, b), a == b ? 1 : 0, precision) << a << " " << b;
          }
        }
        for (std::size_t v = 0; v < vectors; ++v) {  // each given vector is a combination of the new ones
          std::vector<double> left(before.begin() + static_cast<std::ptrdiff_t>(v * length),
                                   before.begin() + static_cast<std::ptrdiff_t>((v + 1) * length));
          for (std::size_t k = 0; k < vectors; ++k) {
            double share = 0;
            for (std::size_t i = 0; i < length; ++i) share += left[i] * after[k * length + i];
            for (std::size_t i = 0; i < length; ++i) left[i] -= share * after[k * length + i];
          }
          for (double rest : left) ASSERT_NEAR(rest, 0, 20 * precision);
        }
        ASSERT_TRUE(factor.guards_hold());
      }
    }
  }
}

TEST(Factors, BecomeOrthonormalWithTheSameBitsInAllBackends) {
  for (Dtype dtype : dtypes) {
    for (std::size_t length : {1u, 20u, 100u, 257u, 5000u, 70001u}) {
      const std::size_t count = 3 * length;
      const Elements given = drawn(draw_normal, dtype, count);
      Block here = block_of(dtype, given, 1), there = block_of(dtype, given, 1);
      tested().orthonormalize(3, {dtype, here.data(), count}, Sums(3).data());
      kernels::best_backend().orthonormalize(3, {dtype, there.data(), count}, Sums(3).data());
      EXPECT_EQ(numbers_of(dtype, here, count), numbers_of(dtype, there, count)) << length;
    }
  }
}

TEST(Factors, LoseAVectorThatIsACombinationOfThoseBeforeIt) {
  for (Dtype dtype : dtypes) {
    constexpr std::size_t length = 100;
    Elements elements = drawn(draw_normal, dtype, 4 * length);
    for (std::size_t i = 0; i < length; ++i) {
      const double sum = oracle::decode(dtype, elements[i]) - 3 * oracle::decode(dtype, elements[length + i]);
      elements[2 * length + i] = oracle::encode(dtype, sum);
      elements[3 * length + i] = 0;
    }
    Block factor = block_of(dtype, elements, 0);
    tested().orthonormalize(4, {dtype, factor.data(), 4 * length}, Sums(3).data());
    const std::vector<double> after = numbers_of(dtype, factor, 4 * length);
    EXPECT_NEAR(product_of(after, length, 1, 1), 1, 1e-5);
    EXPECT_EQ(product_of(after, length, 2, 2), 0);
    EXPECT_EQ(product_of(after, length, 3, 3), 0);
  }
}

TEST(Factors, AreDrawnWhereTheyAreMissing) {
  for (Dtype dtype : dtypes) {
    constexpr std::size_t length = 1000;
    Elements elements = drawn(draw_normal, dtype, 4 * length);
    for (std::size_t i = 0; i < length; ++i) elements[i] = elements[2 * length + i] = 0;
    elements[3 * length + 5] = oracle::encode(dtype, std::nan(""));
    Block factor = block_of(dtype, elements, 1), other = factor, again = factor;
    const auto draw = [&](Block& to, std::uint64_t number) {
      tested().draw_missing(4, {.key = 5, .draw = number}, 4, {dtype, to.data(), 4 * length}, Sums(3).data());
      EXPECT_TRUE(to.guards_hold());
      return numbers_of(dtype, to, 4 * length);
    };
    const std::vector<double> before = numbers_of(dtype, factor, 4 * length), after = draw(factor, 1);
    EXPECT_EQ(draw(again, 1), after);
    EXPECT_NE(draw(other, 2), after);
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) {
      EXPECT_EQ(after[length + i] * (before[length] / after[length]), before[length + i]);
      EXPECT_LE(std::fabs(after[length + i]), 4);
      EXPECT_LT(std::fabs(after[i]), 1);
      sum += after[i];
    }
    EXPECT_LT(std::fabs(sum / length), 0.1);
    EXPECT_NEAR(product_of(after, length, 0, 0) / length, 1.0 / 3, 0.05);
    EXPECT_LT(std::fabs(product_of(after, length, 0, 2) / length), 0.06) << "vectors depend on each other";
    EXPECT_NEAR(product_of(after, length, 3, 3) / length, 1.0 / 3, 0.05);
  }
}

/// The largest magnitudes of a type, and its least ones, which have fewer bits.
TEST(Factors, OfAllFiniteNumbersBecomeOrthonormalAndAreScaledByPowersOfTwo) {
  constexpr std::size_t length = 300;
  for (const auto& [dtype, size, precision] : {std::tuple{Dtype::F32, 3e37, 1e-5},
                                               {Dtype::F32, 1e-37, 1e-5},
                                               {Dtype::F32, 1e-42, 1e-2},
                                               {Dtype::F64, 1e307, 1e-13},
                                               {Dtype::F64, 1e-305, 1e-13},
                                               {Dtype::F64, 1e-320, 1e-2}}) {
    Elements elements = drawn(draw_normal, dtype, 2 * length);
    for (std::uint64_t& one : elements) one = oracle::encode(dtype, oracle::decode(dtype, one) * size);
    Block factor = block_of(dtype, elements, 1), scaled = factor;
    const std::vector<double> before = numbers_of(dtype, factor, 2 * length);
    tested().orthonormalize(2, {dtype, factor.data(), 2 * length}, Sums(3).data());
    const std::vector<double> after = numbers_of(dtype, factor, 2 * length);
    EXPECT_NEAR(product_of(after, length, 0, 0), 1, precision) << size;
    EXPECT_NEAR(product_of(after, length, 1, 1), 1, precision) << size;
    EXPECT_NEAR(product_of(after, length, 0, 1), 0, precision) << size;
    tested().draw_missing(2, {}, 0x1p-9, {dtype, scaled.data(), 2 * length}, Sums(3).data());
    const std::vector<double> now = numbers_of(dtype, scaled, 2 * length);
    const int exponent = std::ilogb(now[0]) - std::ilogb(before[0]);
    for (std::size_t i = 0; i < length; ++i) {
      ASSERT_EQ(now[i], std::ldexp(before[i], exponent)) << size;
      ASSERT_LE(std::fabs(now[i]), 0x1p-9) << size;
    }
  }
}

}  // namespace
}  // namespace lacuna::test
