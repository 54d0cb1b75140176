#include "kernels/copy_past_caches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lacuna::kernels {
namespace {

TEST(CopyPastCaches, CopiesAllBytesAndNoOthersAtEveryAlignment) {
  constexpr std::size_t margin = 64;
  std::vector<std::byte> from(400 + margin), to(400 + 2 * margin);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i % 251);
  for (std::size_t shift_to = 0; shift_to < margin; ++shift_to) {
    for (const std::size_t shift_from : {0, 1, 16, 33}) {
      for (const std::size_t bytes : {0, 1, 15, 63, 64, 65, 127, 128, 300}) {
        std::fill(to.begin(), to.end(), std::byte{0xa5});
        std::vector<std::byte> expected = to;
        const auto begin = static_cast<std::ptrdiff_t>(margin + shift_to);
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(shift_from), bytes, expected.begin() + begin);
        copy_past_caches(to.data() + begin, from.data() + shift_from, bytes);
        ASSERT_EQ(to, expected) << bytes << " bytes from " << shift_from << " to " << shift_to;
      }
    }
  }
}

TEST(CopyPastCaches, TheLargestCacheIsPlausible) { EXPECT_GE(largest_cache(), 32u << 10); }

}  // namespace
}  // namespace lacuna::kernels
