#include "runtime/engine/arrived.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lacuna::test {
namespace {

using runtime::Arrived;
using Outcome = Arrived::Outcome;

TEST(Arrived, TellsNewBytesFromKnownOnesAndFromThoseThatOverlap) {
  Arrived arrived;
  EXPECT_EQ(arrived.add(128, 192), Outcome::New);
  EXPECT_EQ(arrived.add(128, 192), Outcome::Known);
  EXPECT_EQ(arrived.add(64, 192), Outcome::Overlaps);
  EXPECT_EQ(arrived.add(128, 256), Outcome::Overlaps);
  EXPECT_EQ(arrived.add(0, 256), Outcome::Overlaps);
  EXPECT_EQ(arrived.add(64, 128), Outcome::New);
  EXPECT_EQ(arrived.add(64, 192), Outcome::Known);
  EXPECT_FALSE(arrived.all(192));
  EXPECT_EQ(arrived.add(0, 64), Outcome::New);
  EXPECT_TRUE(arrived.all(192));
  EXPECT_EQ(arrived.add(0, 192), Outcome::Known);
  EXPECT_EQ(arrived.add(128, 256), Outcome::Overlaps);
  arrived.clear();
  EXPECT_FALSE(arrived.all(0));
  EXPECT_EQ(arrived.add(0, 64), Outcome::New);
}

TEST(Arrived, AnEmptyMessageComesOnce) {
  Arrived arrived;
  EXPECT_FALSE(arrived.all(0));
  EXPECT_EQ(arrived.add(0, 0), Outcome::New);
  EXPECT_TRUE(arrived.all(0));
  EXPECT_EQ(arrived.add(0, 0), Outcome::Known);
}

/// Compares with a table of bytes, after drawn fragments, until all bytes have come.
TEST(Arrived, AgreesWithATableOfBytesUnderDrawnFragments) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t length = 1 + random() % 60;
    std::vector<bool> table(length);
    Arrived arrived;
    while (!std::all_of(table.begin(), table.end(), [](bool has) { return has; })) {
      ASSERT_FALSE(arrived.all(length)) << "seed " << seed;
      const std::uint64_t begin = random() % length,
                          end = begin + 1 + random() % std::min<std::uint64_t>(9, length - begin);
      const auto first = table.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = table.begin() + static_cast<std::ptrdiff_t>(end);
      const auto known = static_cast<std::uint64_t>(std::count(first, last, true));
      const Outcome expected = known == 0 ? Outcome::New : known == end - begin ? Outcome::Known : Outcome::Overlaps;
      ASSERT_EQ(arrived.add(begin, end), expected) << "seed " << seed << ": " << begin << " .. " << end;
      if (expected == Outcome::New) std::fill(first, last, true);
    }
    ASSERT_TRUE(arrived.all(length));
  }
}

}  // namespace
}  // namespace lacuna::test
