#include "runtime/values/float16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/kernels/oracle.hpp"

namespace lacuna::kernels {
namespace {

std::uint32_t rounded(bf16*, float value) { return to_bf16(value).bits; }
std::uint32_t rounded(f16*, float value) { return to_f16(value).bits; }
const oracle::Format& format_of(bf16*) { return oracle::bf16_format; }
const oracle::Format& format_of(f16*) { return oracle::f16_format; }

template <class T>
class Float16 : public ::testing::Test {
 protected:
  static std::uint32_t round(float value) { return rounded(static_cast<T*>(nullptr), value); }
  static const oracle::Format& format() { return format_of(static_cast<T*>(nullptr)); }
  static T at(std::uint32_t bits) { return {static_cast<std::uint16_t>(bits)}; }
  static bool is_nan(std::uint32_t bits) { return (bits & 0x7fff) > format().infinity; }
};

using Types = ::testing::Types<bf16, f16>;
TYPED_TEST_SUITE(Float16, Types);

TYPED_TEST(Float16, EveryValueWidensExactly) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double expected = oracle::decode16(this->format(), bits);
    const float actual = to_float(this->at(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << bits;
    } else {
      ASSERT_EQ(oracle::to_bits(static_cast<double>(actual)), oracle::to_bits(expected)) << bits;
    }
  }
}

TYPED_TEST(Float16, EveryValueSurvivesTheWayToFloatAndBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const std::uint32_t back = this->round(to_float(this->at(bits)));
    if (this->is_nan(bits)) {
      ASSERT_TRUE(this->is_nan(back)) << bits;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

TYPED_TEST(Float16, HalfwayBetweenNeighboursTheEvenOneIsTaken) {
  for (std::uint32_t bits = 0; bits + 1 < this->format().infinity; ++bits) {
    const float low = to_float(this->at(bits));
    const float high = to_float(this->at(bits + 1));
    const float tie = low + (high - low) / 2;
    const float above = std::nextafter(tie, high);
    const float below = std::nextafter(tie, low);
    const std::uint32_t even = bits + (bits & 1);
    ASSERT_EQ(this->round(tie), even) << bits;
    ASSERT_EQ(this->round(above), bits + 1) << bits;
    ASSERT_EQ(this->round(below), bits) << bits;
    ASSERT_EQ(this->round(-tie), even | 0x8000) << bits;
  }
}

TYPED_TEST(Float16, FloatsOfAllSizesRoundAsTheOracleDoes) {
  for (std::uint64_t step = 0; step <= 0xffffffff; step += 65521) {
    const auto value = oracle::from_bits<float>(step);
    if (std::isnan(value)) {
      ASSERT_TRUE(this->is_nan(this->round(value))) << step;
    } else {
      ASSERT_EQ(this->round(value), oracle::encode16(this->format(), value)) << step;
    }
  }
}

TYPED_TEST(Float16, ValuesPastTheLargestBecomeInfinity) {
  const auto infinity = static_cast<std::uint32_t>(this->format().infinity);
  const float largest = to_float(this->at(infinity - 1));
  const float gap = largest - to_float(this->at(infinity - 2));
  EXPECT_EQ(this->round(largest + gap / 2), infinity);
  EXPECT_EQ(this->round(std::nextafter(largest + gap / 2, 0.0f)), infinity - 1);
  EXPECT_EQ(this->round(-std::numeric_limits<float>::max()), infinity | 0x8000);
  EXPECT_EQ(this->round(std::numeric_limits<float>::infinity()), infinity);
}

TYPED_TEST(Float16, NansStayNansWhateverTheirPayload) {
  for (std::uint64_t payload : {0x1u, 0xfffu, 0x1fffu, 0xffffu, 0x2000u, 0x400000u, 0x7fffffu}) {
    for (std::uint64_t sign : {0x0u, 0x80000000u}) {
      const auto bits = this->round(oracle::from_bits<float>(sign | 0x7f800000u | payload));
      EXPECT_TRUE(this->is_nan(bits)) << payload;
      EXPECT_NE(bits & (this->format().fraction == 7 ? 0x40u : 0x200u), 0u) << "not quiet: " << payload;
    }
  }
}

}  // namespace
}  // namespace lacuna::kernels
