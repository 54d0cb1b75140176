#include "tests/support/receive_fuzz.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <random>
#include <vector>

namespace lacuna::test {
namespace {

std::vector<std::uint8_t> drawn_bytes(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> bytes(64 + random() % 1500);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

TEST(ReceiveFuzz, WhateverArrivesNoCallEndsWellWithAWrongResultAndWhatIsOnlyReorderedOrDoubledHarmsNothing) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    ASSERT_EQ(play_receive_game(drawn_bytes(seed)), "") << "seed " << seed;
  }
}

TEST(ReceiveFuzz, MemoryDoesNotGrowFromGameToGame) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) static_cast<void>(play_receive_game(drawn_bytes(seed)));
  const std::size_t before = ::mallinfo2().uordblks;
  for (std::uint64_t seed = 0; seed < 200; ++seed) static_cast<void>(play_receive_game(drawn_bytes(seed)));
  EXPECT_LT(::mallinfo2().uordblks, before + (1 << 20));
}

}  // namespace
}  // namespace lacuna::test
