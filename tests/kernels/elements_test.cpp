#include "kernels/elements.hpp"

#include <gtest/gtest.h>

#include <array>
#include <type_traits>
#include <vector>

namespace lacuna::kernels {
namespace {

template <class T>
bool is(Dtype dtype) {
  return with_element(dtype, []<class Visited>(Element<Visited>) { return std::is_same_v<T, Visited>; });
}

TEST(Elements, EachDtypeHasItsType) {
  EXPECT_TRUE(is<float>(Dtype::F32));
  EXPECT_TRUE(is<double>(Dtype::F64));
  EXPECT_TRUE(is<bf16>(Dtype::BF16));
  EXPECT_TRUE(is<f16>(Dtype::F16));
  EXPECT_TRUE(is<std::int32_t>(Dtype::I32));
  EXPECT_TRUE(is<std::int64_t>(Dtype::I64));
  EXPECT_TRUE(is<std::uint8_t>(Dtype::U8));
}

TEST(Elements, TheTypeIsAsLongAsItsDtypeSaysAndAnIntegerIfThatDoes) {
  for (Dtype dtype : all_dtypes) {
    with_element(dtype, [&]<class T>(Element<T>) {
      EXPECT_EQ(sizeof(T), size_of(dtype)) << to_string(dtype);
      EXPECT_EQ(is_integer_element<T>, is_integer(dtype)) << to_string(dtype);
    });
  }
}

TEST(Elements, OnlyFloatingTypesAreVisitedWhereOnlyTheseAreAskedFor) {
  std::vector<Dtype> visited;
  for (Dtype dtype : all_dtypes) with_floating_element(dtype, [&](auto) { visited.push_back(dtype); });
  EXPECT_EQ(visited, (std::vector{Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16}));
}

TEST(Elements, WhatIsVisitedMayBeReturnedByReference) {
  double number = 0;
  auto&& same = with_element(Dtype::F32, [&](auto) -> double& { return number; });
  EXPECT_EQ(&same, &number);
}

}  // namespace
}  // namespace lacuna::kernels
