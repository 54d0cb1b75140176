#include "runtime/values/blocks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace lacuna {
namespace {

constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

/// The second one of two blocks. The first one has a single element.
struct Place {
  std::size_t offset, count;
  bool allowed;
};

TEST(BlockLimits, ABlockMayEndAtTheLastElementThatMemoryCanHoldAndNowhereBehindIt) {
  for (Dtype dtype : {Dtype::F16, Dtype::F32, Dtype::F64}) {
    const std::size_t most = PTRDIFF_MAX / size_of(dtype);
    const std::array places = {
        Place{1, 1, true},        Place{most - 1, 1, true}, Place{1, most - 1, true}, Place{2, most - 2, true},
        Place{most, 0, true},     Place{all, 0, true},      Place{most, 1, false},    Place{2, most - 1, false},
        Place{1, most, false},    Place{all, 1, false},     Place{all - 1, 1, false}, Place{all - 1, 2, false},
        Place{2, all - 1, false}, Place{2, all, false},     Place{all, most, false},  Place{all, all, false},
    };
    for (const Place& place : places) {
      const std::vector<std::size_t> counts = {1, place.count}, offsets = {0, place.offset};
      const Status status = check_blocks({.counts = counts, .offsets = offsets}, "input", 2, dtype);
      EXPECT_EQ(status.is_ok(), place.allowed)
          << place.count << " elements of " << to_string(dtype) << " at " << place.offset << ": " << status.to_string();
      if (!place.allowed) {
        EXPECT_NE(status.message().find("no memory holds them"), std::string::npos) << status.to_string();
      }
    }
  }
}

TEST(BlockLimits, BlocksBehindEachOtherMayFillWhatMemoryCanHoldAndNoMore) {
  const std::size_t most = PTRDIFF_MAX / 8;
  for (std::size_t last : {most - 5, most - 4, all, all - 4}) {
    const std::vector<std::size_t> counts = {4, 0, 1, last};
    EXPECT_EQ(check_blocks({.counts = counts}, "output", 4, Dtype::F64).is_ok(), last == most - 5) << last;
  }
}

TEST(BlockLimits, ABlockMayBeginWhereTheOneBeforeItEndsAndNotOneElementSooner) {
  const std::vector<std::size_t> counts = {3, 0, 2};
  for (std::size_t begin : {2, 3, 4}) {
    const std::vector<std::size_t> offsets = {0, 0, begin};
    EXPECT_EQ(check_blocks({.counts = counts, .offsets = offsets}, "output", 3, Dtype::U8).is_ok(), begin >= 3);
  }
}

}  // namespace
}  // namespace lacuna
