#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/kernels/backends.hpp"
#include "tests/support/messages.hpp"

namespace lacuna::kernels {
namespace {

using namespace lacuna::test;

constexpr std::size_t lengths[] = {0, 1, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097, 65537, 200000};
constexpr double densities[] = {0, 0.001, 0.05, 0.5, 1};

/// Calls body(places, the bytes of their map) for maps of all lengths and densities.
template <class Body>
void for_each_map(const Body& body) {
  std::mt19937_64 random(3);
  for (std::size_t length : lengths) {
    for (double density : densities) {
      const Sparse sparse = drawn_sparse(Dtype::F32, length, density, random);
      Bytes map((length + 7) / 8);
      for (std::uint32_t place : sparse.places) map[place / 8] |= std::byte{1} << place % 8;
      body(sparse.places, map, length);
    }
  }
}

TEST(Bitmap, APackedMapHasTheBitsOfThePlacesAndNoOthers) {
  for_each_map([](std::vector<std::uint32_t> places, const Bytes& map, std::size_t length) {
    constexpr std::uint32_t base = 123456789;
    for (std::uint32_t& place : places) place += base;
    Bytes packed_map(map.size() + 2, std::byte{0xee});
    backend().pack_bits(places, base, length, packed_map.data() + 1);
    EXPECT_EQ(packed_map.front(), std::byte{0xee});
    EXPECT_EQ(packed_map.back(), std::byte{0xee});
    ASSERT_TRUE(std::equal(map.begin(), map.end(), packed_map.begin() + 1)) << places.size() << " of " << length;
  });
}

TEST(Bitmap, UnpackedPlacesAreThoseOfTheBitsInOrder) {
  for_each_map([](const std::vector<std::uint32_t>& places, Bytes map, std::size_t length) {
    map.insert(map.begin(), std::byte{0xff});
    std::vector<std::uint32_t> unpacked(places.size());
    std::uint64_t count = 99;
    backend().unpack_bits(map.data() + 1, length, unpacked.data(), &count);
    EXPECT_EQ(count, places.size());
    ASSERT_EQ(unpacked, places) << places.size() << " of " << length;
  });
}

TEST(Bitmap, BitsAreCountedBeforeEachBlockAndInAll) {
  for_each_map([](const std::vector<std::uint32_t>& places, Bytes map, std::size_t length) {
    std::vector<std::uint32_t> expected(blocks_of(length) + 1, 0);
    for (std::uint32_t place : places) ++expected[place / 4096 + 1];
    for (std::size_t block = 1; block < expected.size(); ++block) expected[block] += expected[block - 1];
    map.insert(map.begin(), std::byte{0xff});
    std::vector<std::uint32_t> before(expected.size(), 99);
    backend().count_bits(map.data() + 1, length, before.data());
    ASSERT_EQ(before, expected) << places.size() << " of " << length;
  });
}

}  // namespace
}  // namespace lacuna::kernels
