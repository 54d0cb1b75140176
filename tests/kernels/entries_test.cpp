#include "kernels/entries.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/kernels/backends.hpp"
#include "tests/support/messages.hpp"

namespace lacuna::kernels {
namespace {

using namespace lacuna::test;

constexpr std::size_t lengths[] = {0, 1, 7, 8, 9, 4095, 4096, 4097, 65535, 65536, 65537, 200000};
constexpr double densities[] = {0, 0.0001, 0.01, 0.0625, 0.3, 0.97, 1};

/// Calls body(sparse) for arrays of all lengths, densities and dtypes. Long ones with many entries have one dtype only.
template <class Body>
void for_each_sparse(const Body& body) {
  std::mt19937_64 random(1);
  for (Dtype dtype : float_dtypes) {
    for (std::size_t length : lengths) {
      for (double density : densities) {
        const bool costly = length > 10000 && density > 0.1 && dtype != Dtype::BF16;
        if (!costly) body(drawn_sparse(dtype, length, density, random));
      }
    }
  }
}

std::string name_of(const Sparse& sparse, Format format) {
  return std::string(to_string(sparse.dtype)) + " " + std::to_string(sparse.places.size()) + " of " +
         std::to_string(sparse.length) + " as " + std::string(format_names[static_cast<std::size_t>(format)]);
}

TEST(Entries, AMessageHasTheBytesThatItsFormatAsksFor) {
  const Backend& on = backend();
  for_each_sparse([&](const Sparse& sparse) {
    for (Format format : all_formats) {
      ASSERT_EQ(encoded(on, sparse, format, 7), written(sparse, format, 7)) << name_of(sparse, format);
    }
  });
}

TEST(Entries, AMessageCountsPlacesFromTheStartOfItsSegmentWhereverTheListBegins) {
  const Backend& on = backend();
  std::mt19937_64 random(2);
  const Sparse sparse = drawn_sparse(Dtype::BF16, 100000, 0.1, random);
  for (Format format : all_formats) {
    for (std::uint32_t base : {1u, 65535u, 4294867295u}) {
      ASSERT_EQ(encoded(on, sparse, format, 7, base), written(sparse, format, 7)) << name_of(sparse, format);
    }
  }
}

TEST(Entries, TheHeaderOfAnyBytesIsReadAsItStandsThere) {
  std::mt19937_64 random(3);
  for (int time = 0; time < 100; ++time) {
    Bytes message(sizeof(EntriesHeader) + 1);
    for (std::byte& byte : message) byte = static_cast<std::byte>(random());
    EntriesHeader header, expected;
    backend().read_header(message.data() + 1, &header);
    std::memcpy(&expected, message.data() + 1, sizeof(expected));
    ASSERT_EQ(std::memcmp(&header, &expected, sizeof(expected)), 0);
  }
}

TEST(Entries, WhatIsReadFromAMessageIsWhatWasWritten) {
  const Backend& on = backend();
  for_each_sparse([&](const Sparse& sparse) {
    for (Format format : all_formats) {
      auto message = indexed(on, encoded(on, sparse, format, 3), sparse.dtype, 3, sparse.length);
      ASSERT_TRUE(message) << name_of(sparse, format);
      std::vector<Indexed> alone;
      alone.push_back(*std::move(message));
      const Merged result = merged(on, alone, {}, sparse.dtype, sparse.length, sparse.places.size());
      ASSERT_EQ(result.taken, sparse.places.size()) << name_of(sparse, format);
      ASSERT_EQ(result.sparse, sparse) << name_of(sparse, format);
    }
  });
}

TEST(Entries, TheIndexSaysHowManyEntriesStandBeforeEachBlock) {
  const Backend& on = backend();
  for_each_sparse([&](const Sparse& sparse) {
    std::vector<std::uint32_t> expected(blocks_of(sparse.length) + 1, 0);
    for (std::uint32_t place : sparse.places) ++expected[place / 4096 + 1];
    for (std::size_t block = 1; block < expected.size(); ++block) expected[block] += expected[block - 1];
    for (Format format : {Format::Coordinates, Format::Local16, Format::Bitmap}) {
      const auto message = indexed(on, written(sparse, format, 3), sparse.dtype, 3, sparse.length);
      ASSERT_TRUE(message) << name_of(sparse, format);
      ASSERT_EQ(message->before, expected) << name_of(sparse, format);
    }
  });
}

TEST(Entries, AListInMemoryIsIndexedFromItsBase) {
  const std::vector<std::uint32_t> places = {100, 5000, 8291};
  const auto sound_within = [&](std::uint32_t base, std::size_t length, std::vector<std::uint32_t> before) {
    std::uint64_t sound = 2;
    backend().index({Format::Coordinates, 3, base, std::as_bytes(std::span(places)).data(), nullptr}, length,
                    before.data(), &sound);
    return std::pair(sound, before);
  };
  EXPECT_EQ(sound_within(100, 8192, {9, 9, 9}), std::pair(std::uint64_t{1}, std::vector<std::uint32_t>({0, 1, 3})));
  EXPECT_EQ(sound_within(101, 8192, {9, 9, 9}).first, 0u);
  EXPECT_EQ(sound_within(100, 8191, {9, 9, 9}).first, 0u);
}

std::size_t shortest_bytes(Dtype dtype, std::size_t entries, std::size_t length) {
  const std::size_t value = dtype == Dtype::F64 ? 8 : dtype == Dtype::F32 ? 4 : 2;
  const std::size_t sparse = entries * value;
  std::size_t best = length * value;
  best = std::min(best, sparse + 4 * entries);
  best = std::min(best, sparse + 2 * entries + 4 * (length / 65536 + (length % 65536 != 0 ? 1 : 0)));
  best = std::min(best, sparse + length / 8 + (length % 8 != 0 ? 1 : 0));
  return 16 + best;
}

TEST(Entries, TheShortestFormatIsTheShortestAndNoLongerThanDense) {
  for (Dtype dtype : float_dtypes) {
    for (std::size_t length : lengths) {
      for (std::size_t entries = 0; entries <= length; entries += 1 + length / 3000) {
        const Format format = shortest_format(dtype, entries, length);
        const std::size_t bytes = message_bytes(format, dtype, entries, length);
        ASSERT_EQ(bytes, shortest_bytes(dtype, entries, length)) << entries << " of " << length;
        ASSERT_LE(bytes, 16 + length * size_of(dtype)) << entries << " of " << length;
        ASSERT_LE(bytes, longest_message(dtype, entries, length)) << entries << " of " << length;
      }
    }
  }
}

TEST(Entries, Local16BecomesBitmapWhereItsBytesAreMore) {
  for (std::size_t length : {1000u, 65536u, 65537u, 200000u, 1u << 24}) {
    const std::size_t last = ((length + 7) / 8 - 4 * ((length + 65535) / 65536)) / 2;
    for (Dtype dtype : float_dtypes) {
      EXPECT_EQ(shortest_format(dtype, last, length), Format::Local16) << length;
      EXPECT_EQ(shortest_format(dtype, last + 1, length), Format::Bitmap) << length;
    }
  }
}

TEST(Entries, CoordinatesAreLongerThanABitmapAboveOneIn32AndThanLocal16AboveTwoInAGroup) {
  for (std::size_t length : {65536u, 1u << 20}) {
    const auto bytes = [&](Format format, std::size_t entries) {
      return message_bytes(format, Dtype::F32, entries, length);
    };
    EXPECT_EQ(bytes(Format::Coordinates, length / 32), bytes(Format::Bitmap, length / 32));
    EXPECT_LT(bytes(Format::Coordinates, length / 32 - 1), bytes(Format::Bitmap, length / 32 - 1));
    EXPECT_GT(bytes(Format::Coordinates, length / 32 + 1), bytes(Format::Bitmap, length / 32 + 1));
    EXPECT_EQ(shortest_format(Dtype::F32, 2 * length / 65536, length), Format::Coordinates);
    EXPECT_EQ(shortest_format(Dtype::F32, 2 * length / 65536 + 1, length), Format::Local16);
  }
}

TEST(Entries, BitmapBecomesDenseWhereItsBytesAreMore) {
  constexpr std::size_t length = 1 << 16;
  const auto last_bitmap = [](Dtype dtype) {
    std::size_t entries = length;
    while (shortest_format(dtype, entries, length) == Format::Dense) --entries;
    EXPECT_EQ(shortest_format(dtype, entries, length), Format::Bitmap);
    return entries;
  };
  EXPECT_EQ(last_bitmap(Dtype::F32), length / 32 * 31);
  EXPECT_EQ(last_bitmap(Dtype::F64), length / 64 * 63);
  EXPECT_EQ(last_bitmap(Dtype::BF16), length / 16 * 15);
  EXPECT_EQ(last_bitmap(Dtype::F16), length / 16 * 15);
}

}  // namespace
}  // namespace lacuna::kernels
