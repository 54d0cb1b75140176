#include "runtime/values/count_of.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace lacuna {
namespace {

TEST(CountOf, OneIsSingularAndAllElseIsPlural) {
  EXPECT_EQ(count_of(1, "element"), "1 element");
  EXPECT_EQ(count_of(0, "element"), "0 elements");
  EXPECT_EQ(count_of(2, "element"), "2 elements");
  EXPECT_EQ(count_of(-1, "element"), "-1 elements");
  EXPECT_EQ(count_of(std::numeric_limits<std::uint64_t>::max(), "byte"), "18446744073709551615 bytes");
}

TEST(CountOf, PluralsAreSpeltAsTheNounAsks) {
  EXPECT_EQ(count_of(1, "entry"), "1 entry");
  EXPECT_EQ(count_of(2, "entry"), "2 entries");
  EXPECT_EQ(count_of(2, "address"), "2 addresses");
  EXPECT_EQ(count_of(2, "stretch"), "2 stretches");
  EXPECT_EQ(count_of(2, "later event"), "2 later events");
}

}  // namespace
}  // namespace lacuna
