#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/backend.hpp"
#include "runtime/values/located.hpp"
#include "tests/kernels/backends.hpp"
#include "tests/kernels/block.hpp"

/// Elements of two numbers: complex ones, and located ones.
namespace lacuna::kernels {
namespace {

using test::Block;

template <class T>
Block block_of(const std::vector<T>& elements, std::size_t offset) {
  Block block(elements.size() * sizeof(T), offset);
  if (!elements.empty()) std::memcpy(block.data(), elements.data(), elements.size() * sizeof(T));
  return block;
}

/// Reduces two arrays at odd addresses. With `in_place` the result replaces the first.
template <class T>
std::vector<T> reduced(Dtype dtype, Reduction reduction, const std::vector<T>& a, const std::vector<T>& b,
                       bool in_place = false) {
  Block first = block_of(a, 1), second = block_of(b, 3), third(a.size() * sizeof(T), 5);
  std::byte* const out = in_place ? first.data() : third.data();
  backend().reduce(reduction, {}, {dtype, out, a.size()}, first.data(), second.data());
  EXPECT_TRUE(first.guards_hold() && second.guards_hold() && third.guards_hold());
  std::vector<T> result(a.size());
  if (!a.empty()) std::memcpy(result.data(), out, a.size() * sizeof(T));
  return result;
}

template <class T>
void expect_complex_arithmetic(Dtype dtype) {
  std::mt19937_64 random(7);
  const auto draw = [&] { return static_cast<T>(static_cast<int>(random() % 201) - 100); };
  for (std::size_t count : {0u, 1u, 2u, 7u, 33u, 1000u}) {
    std::vector<std::complex<T>> a(count), b(count), sum(count), product(count);
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = {draw(), draw()};
      b[i] = {draw(), draw()};
      sum[i] = {a[i].real() + b[i].real(), a[i].imag() + b[i].imag()};
      product[i] = {a[i].real() * b[i].real() - a[i].imag() * b[i].imag(),
                    a[i].real() * b[i].imag() + a[i].imag() * b[i].real()};
    }
    for (bool in_place : {false, true}) {
      EXPECT_EQ(reduced(dtype, Reduction::Sum, a, b, in_place), sum) << to_string(dtype) << " " << count;
      EXPECT_EQ(reduced(dtype, Reduction::Prod, a, b, in_place), product) << to_string(dtype) << " " << count;
    }
  }
}

TEST(Complex, SumsAndProductsArePlainFormulas) {
  expect_complex_arithmetic<float>(Dtype::C64);
  expect_complex_arithmetic<double>(Dtype::C128);
}

template <class T>
class LocatedElements : public testing::Test {
 public:
  static constexpr Dtype dtype = std::is_same_v<T, float>          ? Dtype::LocatedF32
                                 : std::is_same_v<T, double>       ? Dtype::LocatedF64
                                 : std::is_same_v<T, std::int32_t> ? Dtype::LocatedI32
                                                                   : Dtype::LocatedI64;
  using Element = Located<T>;

  static Element combined(Reduction reduction, Element a, Element b) {
    return reduced<Element>(dtype, reduction, {a}, {b}).front();
  }
};
using Numbers = testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(LocatedElements, Numbers);

TYPED_TEST(LocatedElements, TheLeastOrTheLargestNumberKeepsItsIndex) {
  using L = Located<TypeParam>;
  constexpr TypeParam least = std::numeric_limits<TypeParam>::lowest(), most = std::numeric_limits<TypeParam>::max();
  for (const auto& [a, b] : {std::pair<TypeParam, TypeParam>{1, 2}, {-1, 1}, {-2, -1}, {least, most}, {0, 1}}) {
    const L low{a, 9}, high{b, -3};
    EXPECT_EQ(this->combined(Reduction::Min, low, high), low);
    EXPECT_EQ(this->combined(Reduction::Min, high, low), low);
    EXPECT_EQ(this->combined(Reduction::Max, low, high), high);
    EXPECT_EQ(this->combined(Reduction::Max, high, low), high);
  }
}

TYPED_TEST(LocatedElements, OfEqualNumbersTheLowestIndexWins) {
  using L = Located<TypeParam>;
  constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
  for (Reduction reduction : {Reduction::Min, Reduction::Max}) {
    for (const auto& [low, high] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {-1, 0}, {first, -first - 1}}) {
      EXPECT_EQ(this->combined(reduction, {4, low}, {4, high}), (L{4, low}));
      EXPECT_EQ(this->combined(reduction, {4, high}, {4, low}), (L{4, low}));
    }
  }
}

TYPED_TEST(LocatedElements, TheBytesBetweenNumberAndIndexBecomeZero) {
  std::array<std::byte, 16> a{}, b{}, out{};
  a.fill(std::byte{0x55});
  b.fill(std::byte{0x66});
  backend().reduce(Reduction::Min, {}, {this->dtype, out.data(), 1}, a.data(), b.data());
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(out[i], i < sizeof(TypeParam) || i >= 8 ? std::byte{0x55} : std::byte{0}) << i;
  }
}

template <class T>
void expect_floats_in_order(Dtype dtype) {
  using L = Located<T>;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  const auto combine = [&](Reduction reduction, L a, L b) { return reduced<L>(dtype, reduction, {a}, {b}).front(); };
  EXPECT_EQ(combine(Reduction::Min, {T{0}, 1}, {-T{0}, 2}).index, 2);
  EXPECT_EQ(combine(Reduction::Max, {T{0}, 2}, {-T{0}, 1}).index, 2);
  for (Reduction reduction : {Reduction::Min, Reduction::Max}) {
    for (T sign : {T{1}, T{-1}}) {
      for (T number : {T{0}, infinity, -infinity}) {
        const L one = combine(reduction, {number, 1}, {std::copysign(nan, sign), 2});
        EXPECT_TRUE(std::isnan(one.value) && one.index == 2) << number;
        EXPECT_EQ(combine(reduction, {std::copysign(nan, sign), 2}, {number, 1}).index, 2) << number;
      }
      EXPECT_EQ(combine(reduction, {std::copysign(nan, sign), 7}, {std::copysign(nan, -sign), 6}).index, 6);
      EXPECT_EQ(combine(reduction, {std::copysign(nan, sign), 6}, {std::copysign(nan, -sign), 7}).index, 6);
    }
  }
}

TEST(LocatedFloats, NansWinAndZerosHaveSigns) {
  expect_floats_in_order<float>(Dtype::LocatedF32);
  expect_floats_in_order<double>(Dtype::LocatedF64);
}

TEST(Compounds, AreClearedAndCopiedWhole) {
  for (Dtype dtype : all_dtypes) {
    const std::size_t bytes = 33 * size_of(dtype);
    Block from(bytes, 1), to(bytes, 3);
    for (std::size_t i = 0; i < bytes; ++i) from.data()[i] = static_cast<std::byte>(i * 7 + 1);
    backend().copy({}, {dtype, to.data(), 33}, from.data());
    EXPECT_EQ(std::memcmp(to.data(), from.data(), bytes), 0) << to_string(dtype);
    backend().clear({dtype, to.data(), 33});
    EXPECT_TRUE(std::all_of(to.data(), to.data() + bytes, [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_TRUE(from.guards_hold() && to.guards_hold()) << to_string(dtype);
  }
}

}  // namespace
}  // namespace lacuna::kernels
