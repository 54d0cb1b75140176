#include "runtime/values/philox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "runtime/values/digest.hpp"

namespace lacuna {
namespace {

using Counter = std::array<std::uint32_t, 4>;

TEST(Philox, YieldsThePublishedWords) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}), (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(BoundedDraw, StaysBelowItsBound) {
  for (std::uint32_t bound : {1u, 2u, 3u, 7u, 1000u, 0x80000001u, 0xffffffffu}) {
    for (std::uint64_t draw = 0; draw < 1000; ++draw) ASSERT_LT(bounded_draw({1, 2, draw}, 0, bound), bound);
  }
}

TEST(BoundedDraw, IsUniform) {
  constexpr std::uint32_t bound = 7;
  constexpr std::uint64_t draws = 7'000;
  constexpr std::uint32_t parts = 10;
  constexpr double expected = static_cast<double>(draws * parts) / bound;
  std::array<int, bound> counts{};
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    for (std::uint32_t part = 0; part < parts; ++part) ++counts[bounded_draw({42, 5, draw}, part, bound)];
  }
  double chi_squared = 0;
  for (int count : counts) chi_squared += std::pow(count - expected, 2) / expected;
  EXPECT_LT(chi_squared, 22.46);  // with 6 degrees of freedom, 0.1 % of uniform samples exceed this
}

TEST(BoundedDraw, DependsOnSeedKeyDrawAndPart) {
  constexpr std::uint32_t bound = 0xffffffff;
  const std::set<std::uint32_t> seen = {
      bounded_draw({1, 2, 3}, 4, bound),
      bounded_draw({9, 2, 3}, 4, bound),
      bounded_draw({1, 9, 3}, 4, bound),
      bounded_draw({1, 2, 9}, 4, bound),
      bounded_draw({1, 2, 3 + (std::uint64_t{1} << 32)}, 4, bound),
      bounded_draw({1, 2, 3}, 9, bound),
      bounded_draw({2, 1, 3}, 4, bound),
  };
  EXPECT_EQ(seen.size(), 7u);
}

TEST(BoundedDraw, NeverChangesBetweenVersions) { EXPECT_EQ(bounded_draw({1, 2, 3}, 4, 1'000'000), 805463u); }

TEST(Digest, DependsOnOrderAndOnWhereTextsAreCut) {
  EXPECT_NE(Digest().add(1).add(2).value(), Digest().add(2).add(1).value());
  EXPECT_NE(Digest().add("ab").add("c").value(), Digest().add("a").add("bc").value());
  EXPECT_NE(Digest().add(0).value(), Digest().value());
  EXPECT_NE(Digest().add("").value(), Digest().value());
  EXPECT_NE(Digest().add("12345678").value(), Digest().add(std::string_view("12345678\0", 9)).value());
}

TEST(Digest, OneChangedBitChangesAboutHalfOfTheBits) {
  const std::uint64_t base = Digest().add(0x0123456789abcdefu).add(7).value();
  int changed = 0;
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t other = Digest().add(0x0123456789abcdefu ^ (std::uint64_t{1} << bit)).add(7).value();
    changed += std::popcount(base ^ other);
  }
  EXPECT_NEAR(changed / 64.0, 32.0, 2.0);
}

}  // namespace
}  // namespace lacuna
