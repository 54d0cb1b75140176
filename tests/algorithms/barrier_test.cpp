#include <gtest/gtest.h>

#include "tests/support/ranks.hpp"

namespace lacuna::test {
namespace {

TEST(Barrier, NobodyLeavesBeforeAllHaveCome) {
  for (Rank size = 2; size <= 9; ++size) {
    for (Rank last = 0; last < size; ++last) {
      Ranks ranks(size);
      std::vector<runtime::Run*> runs;
      for (Rank rank = 0; rank < size; ++rank) {
        if (rank != last) runs.push_back(*ranks.post(rank, Call{}));
      }
      ranks.sweep_until([] { return false; });
      for (const runtime::Run* run : runs) ASSERT_FALSE(run->finished) << size << " ranks without rank " << last;
      runs.push_back(*ranks.post(last, Call{}));
      ranks.sweep_until([] { return false; });
      for (const runtime::Run* run : runs) ASSERT_TRUE(run->finished && run->status);
    }
  }
}

}  // namespace
}  // namespace lacuna::test
