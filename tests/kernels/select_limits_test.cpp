#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/backends.hpp"
#include "tests/kernels/block.hpp"

namespace lacuna::kernels {
namespace {

using test::Block;
using test::block_of;

class SelectLimits : public EachBackend {
 protected:
  std::byte* workspace() { return reinterpret_cast<std::byte*>(workspace_.data()); }

 private:
  std::vector<std::uint64_t> workspace_ = std::vector<std::uint64_t>(Backend::workspace_bytes() / 8, 0xa5a5a5a5);
};
INSTANTIATE_TEST_SUITE_P(, SelectLimits, testing::ValuesIn(backend_names()), name_of_backend);

/// The cut that takes just the k largest of these magnitudes. None of them is zero.
Cut plain_cut(std::vector<std::uint32_t> magnitudes, std::size_t k) {
  std::sort(magnitudes.begin(), magnitudes.end(), std::greater<>());
  const std::uint32_t last = magnitudes[k - 1];
  const auto first = std::find(magnitudes.begin(), magnitudes.end(), last);
  return {.above = last, .ties = k - static_cast<std::size_t>(first - magnitudes.begin())};
}

// The array is so large that bounds are guessed from a sample of it. If the magnitudes follow each other without gaps,
// some elements lie at the guessed bounds, and some just beyond them.
TEST_P(SelectLimits, TheBoundsOfAGuessHoldWhereMagnitudesFollowEachOther) {
  constexpr std::size_t count = 1'000'000;
  std::mt19937_64 random(3);
  for (const std::uint32_t different : {2u, 17u, 300u, 5000u}) {
    std::vector<std::uint32_t> magnitudes(count);
    for (std::uint32_t& magnitude : magnitudes) {
      magnitude = 0x3f800000u + static_cast<std::uint32_t>(random() % different);
    }
    for (const std::size_t k : {1u, 1000u, 10'000u, 123'456u, 500'000u, 999'000u, 999'999u}) {
      const Source from{Dtype::F32, reinterpret_cast<const std::byte*>(magnitudes.data()), count};
      Cut cut{7, 7};
      backend().largest(from, k, workspace(), &cut);
      std::uint64_t above = 0, ties = 0;
      for (std::uint32_t magnitude : magnitudes) {
        above += magnitude > cut.above;
        ties += magnitude == cut.above;
      }
      ASSERT_LE(cut.ties, ties);
      ASSERT_EQ(above + cut.ties, k) << different << " different magnitudes";
    }
  }
}

TEST_P(SelectLimits, WhatIsTakenEndsAtTheLastTie) {
  for (const std::size_t k : {1u, 2u, 3u, 4u, 5u}) {
    std::vector<std::uint32_t> magnitudes = {9, 7, 7, 7, 5};
    const Source from{Dtype::F32, reinterpret_cast<const std::byte*>(magnitudes.data()), magnitudes.size()};
    Cut cut{};
    backend().largest(from, k, workspace(), &cut);
    std::vector<std::uint32_t> places(5);
    std::vector<float> values(5);
    std::uint64_t taken = 0;
    backend().compact(from, &cut, {places.data(), reinterpret_cast<std::byte*>(values.data()), 5}, &taken);
    EXPECT_EQ(taken, k);
    for (std::size_t i = 0; i < k; ++i) EXPECT_EQ(places[i], i) << "of equal ones the first are taken";
    const Cut plain = plain_cut(magnitudes, k);
    EXPECT_TRUE(cut.above == plain.above || cut.above + 1 == plain.above || k == 5) << k;
  }
}

TEST_P(SelectLimits, ASampleLargerThanTheDataIsOfTheDataOnly) {
  for (const std::size_t count : {2u, 5u, 100u, 1000u}) {
    constexpr std::size_t samples = 4096;
    // In memory, elements with larger magnitudes stand before and behind the array.
    std::vector<float> memory(count + 2 * samples, 1e30f);
    for (std::size_t i = 0; i < count; ++i) memory[samples + i] = 1 + static_cast<float>(i);
    const Source from{Dtype::F32, reinterpret_cast<const std::byte*>(memory.data() + samples), count};
    std::vector<float> room(samples, -1);
    Cut cut{};
    backend().estimate(from, count / 2, samples, {.seed = 1, .key = 2, .draw = 3},
                       reinterpret_cast<std::byte*>(room.data()), workspace(), &cut);
    for (float drawn : room) ASSERT_LE(drawn, static_cast<float>(count)) << "it is none of the data";
    EXPECT_GE(*std::min_element(room.begin(), room.end()), 1.0f) << "all of the sample is drawn";
  }
}

}  // namespace
}  // namespace lacuna::kernels
