#include "kernels/elements.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

namespace lacuna::kernels {
namespace {

template <class T>
bool is(Dtype dtype) {
  bool same = false;
  with_element(dtype, [&]<class Visited>(Element<Visited>) { same = std::is_same_v<T, Visited>; });
  return same;
}

TEST(Elements, EachDtypeHasItsType) {
  EXPECT_TRUE(is<float>(Dtype::F32));
  EXPECT_TRUE(is<double>(Dtype::F64));
  EXPECT_TRUE(is<bf16>(Dtype::BF16));
  EXPECT_TRUE(is<f16>(Dtype::F16));
  EXPECT_TRUE(is<std::int32_t>(Dtype::I32));
  EXPECT_TRUE(is<std::int64_t>(Dtype::I64));
  EXPECT_TRUE(is<std::uint8_t>(Dtype::U8));
  EXPECT_TRUE(is<std::int8_t>(Dtype::I8));
  EXPECT_TRUE(is<std::int16_t>(Dtype::I16));
  EXPECT_TRUE(is<std::uint16_t>(Dtype::U16));
  EXPECT_TRUE(is<std::uint32_t>(Dtype::U32));
  EXPECT_TRUE(is<std::uint64_t>(Dtype::U64));
}

TEST(Elements, NumbersAreThoseOfTheListAndOfTheOrder) {
  for (std::size_t i = 0; i < all_dtypes.size(); ++i) EXPECT_EQ(static_cast<std::size_t>(all_dtypes[i]), i);
}

TEST(Elements, TheTypeIsAsLongAsItsDtypeSaysAndAnIntegerIfThatDoes) {
  for (Dtype dtype : real_dtypes) {
    with_element(dtype, [&]<class T>(Element<T>) {
      EXPECT_EQ(sizeof(T), size_of(dtype)) << to_string(dtype);
      EXPECT_EQ(is_integer_element<T>, is_integer(dtype)) << to_string(dtype);
    });
  }
}

TEST(Elements, OnlyFloatingTypesAreVisitedWhereOnlyTheseAreAskedFor) {
  std::vector<Dtype> visited;
  for (Dtype dtype : real_dtypes) with_floating_element(dtype, [&](auto) { visited.push_back(dtype); });
  EXPECT_EQ(visited, (std::vector{Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16}));
}

TEST(Elements, OnlyRealNumbersAreVisitedWhereNothingElseIsAskedFor) {
  for (Dtype dtype : all_dtypes) {
    bool visited = false;
    with_element(dtype, [&](auto) { visited = true; });
    EXPECT_EQ(visited, is_real(dtype)) << to_string(dtype);
  }
}

TEST(Elements, EveryDtypeButTheOpaqueOnesDefinesSomeReductionOfLacuna) {
  for (Dtype dtype : all_dtypes) {
    std::string names;
    for (Reduction reduction : all_reductions) {
      if (defines(dtype, reduction)) names += std::string(to_string(reduction)) + " ";
    }
    const char* const expected[] = {"sum avg min max prod ", "sum min max prod ", "sum prod ", "min max ", ""};
    EXPECT_EQ(names, expected[static_cast<std::size_t>(element_kind(dtype))]) << to_string(dtype);
    EXPECT_EQ(defines(dtype, Reduction::Own), element_kind(dtype) == ElementKind::Opaque) << to_string(dtype);
  }
}

/// The numbers are those of magnitudes, those between two magnitudes, and those below the least and above the largest.
TEST(Elements, AMagnitudeIsTheLargestThatIsNoMoreThanItsNumber) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (Dtype dtype : {Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16}) {
    std::vector<double> numbers = {0, 1, 1.0 / 3, 2.0 / 3, 65504, 65519.99, 65520, 65536, 1e-300, 1e300, infinity};
    const std::uint64_t infinite = magnitude_of(dtype, infinity);
    for (const std::uint64_t magnitude :
         {std::uint64_t{1}, std::uint64_t{2}, infinite / 2, infinite - 2, infinite - 1}) {
      const double number = number_of_magnitude(dtype, magnitude), next = number_of_magnitude(dtype, magnitude + 1);
      for (const double near : {number, std::nextafter(number, 0.0), std::nextafter(number, infinity)}) {
        numbers.push_back(near);
      }
      if (std::isinf(next)) continue;
      numbers.insert(numbers.end(), {std::midpoint(number, next), number + (next - number) * 0.75});
    }
    for (const double number : numbers) {
      const std::uint64_t magnitude = magnitude_of(dtype, number);
      EXPECT_LE(number_of_magnitude(dtype, magnitude), number) << to_string(dtype) << " " << number;
      if (magnitude == infinite) continue;
      EXPECT_GT(number_of_magnitude(dtype, magnitude + 1), number) << to_string(dtype) << " " << number;
    }
  }
}

}  // namespace
}  // namespace lacuna::kernels
