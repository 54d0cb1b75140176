#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/kernels/backends.hpp"
#include "tests/support/entries_fuzz.hpp"
#include "tests/support/messages.hpp"

namespace lacuna::kernels {
namespace {

using namespace lacuna::test;

constexpr std::uint32_t length = 131074;
constexpr std::uint32_t segment = 3;
constexpr std::size_t group_counts = 3 * 4;

Sparse some_sparse() {
  Sparse sparse{Dtype::F32, length, {}, std::vector<std::uint64_t>(151, 0x3f800000)};
  for (std::uint32_t i = 0; i < 150; ++i) sparse.places.push_back(i * 873);
  sparse.places.push_back(length - 1);
  return sparse;
}

bool accepted(const Bytes& message) { return indexed(backend(), message, Dtype::F32, segment, length).has_value(); }

template <class T>
T& number_at(Bytes& message, std::size_t at) {
  return *reinterpret_cast<T*>(message.data() + at);
}

/// A good message, after change(its bytes).
template <class Change>
bool accepted_after(Format format, const Change& change) {
  Bytes message = written(some_sparse(), format, segment);
  EXPECT_TRUE(accepted(message));
  change(message);
  return accepted(message);
}

TEST(Damage, EachFieldOfAHeaderIsCheckedAndTheTextSaysWhatWasFoundAndExpected) {
  const auto text_after = [](std::size_t at, std::uint8_t value) {
    Bytes message = written(some_sparse(), Format::Coordinates, segment);
    number_at<std::uint8_t>(message, at) = value;
    const auto view = view_of(backend(), message, Dtype::F32, segment, length);
    EXPECT_FALSE(view);
    EXPECT_EQ(view.status().code(), Code::Mismatch);
    return std::string(view.status().message());
  };
  EXPECT_EQ(text_after(3, 1), "16777367 entries for 131074 places");
  EXPECT_EQ(text_after(4, 3), "entries of 131075 places instead of 131074");
  EXPECT_EQ(text_after(8, 4), "entries of range 4 instead of 3");
  EXPECT_EQ(text_after(12, 4), "entries in format 4, but there are only 4 formats");
  EXPECT_EQ(text_after(13, 2), "entries of bf16 instead of f32");
  EXPECT_EQ(text_after(13, 200), "entries of dtype 200 instead of f32");
  EXPECT_EQ(text_after(14, 1), "entries with 1 where 0 is reserved");
  EXPECT_EQ(text_after(15, 1), "entries with 256 where 0 is reserved");
  EXPECT_EQ(text_after(0, 7), "1224 bytes instead of the 72 of 7 entries of f32 as coordinates");
}

TEST(Damage, AMessageOfAnotherLengthIsRefused) {
  for (Format format : all_formats) {
    EXPECT_FALSE(accepted_after(format, [](Bytes& message) { message.pop_back(); }));
    EXPECT_FALSE(accepted_after(format, [](Bytes& message) { message.push_back({}); }));
    EXPECT_FALSE(accepted_after(format, [](Bytes& message) { message.resize(15); }));
    EXPECT_FALSE(accepted_after(format, [](Bytes& message) { message.clear(); }));
    if (format == Format::Dense) continue;
    EXPECT_FALSE(accepted_after(format, [](Bytes& message) { ++number_at<std::uint32_t>(message, 0); }));
    EXPECT_FALSE(accepted_after(format, [](Bytes& message) { --number_at<std::uint32_t>(message, 0); }));
  }
}

TEST(Damage, EachCoordinateThatIsDoubledSwappedOrOutOfRangeIsFound) {
  const std::size_t entries = some_sparse().places.size();
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = 16 + 4 * i;
    EXPECT_FALSE(accepted_after(Format::Coordinates, [&](Bytes& m) { number_at<std::uint32_t>(m, at) += length; }));
    EXPECT_FALSE(accepted_after(Format::Coordinates, [&](Bytes& m) { number_at<std::uint32_t>(m, at) -= length; }));
    if (i + 1 == entries) continue;
    EXPECT_FALSE(accepted_after(Format::Coordinates, [&](Bytes& m) {
      number_at<std::uint32_t>(m, at) = number_at<std::uint32_t>(m, at + 4);
    })) << i;
    EXPECT_FALSE(accepted_after(Format::Coordinates, [&](Bytes& m) {
      std::swap(number_at<std::uint32_t>(m, at), number_at<std::uint32_t>(m, at + 4));
    })) << i;
  }
}

TEST(Damage, EachLocalPlaceThatIsDoubledOrSwappedIsFound) {
  const Sparse sparse = some_sparse();
  for (std::size_t i = 0; i + 1 < sparse.places.size(); ++i) {
    if (sparse.places[i] / 65536 != sparse.places[i + 1] / 65536) continue;
    const std::size_t at = 16 + group_counts + 2 * i;
    EXPECT_FALSE(accepted_after(Format::Local16, [&](Bytes& m) {
      number_at<std::uint16_t>(m, at) = number_at<std::uint16_t>(m, at + 2);
    })) << i;
    EXPECT_FALSE(accepted_after(Format::Local16, [&](Bytes& m) {
      std::swap(number_at<std::uint16_t>(m, at), number_at<std::uint16_t>(m, at + 2));
    })) << i;
  }
}

TEST(Damage, TheLastLocalPlaceIsBelowTheLength) {
  const std::size_t at = 16 + group_counts + 2 * (some_sparse().places.size() - 1);
  EXPECT_TRUE(accepted_after(Format::Local16, [&](Bytes& m) { number_at<std::uint16_t>(m, at) = 0; }));
  EXPECT_FALSE(accepted_after(Format::Local16, [&](Bytes& m) { number_at<std::uint16_t>(m, at) = 2; }));
}

TEST(Damage, CountsOfLocalPlacesAddUpAndFitTheirPlaces) {
  for (std::size_t group = 0; group < 3; ++group) {
    for (std::uint32_t by : {1u, 0xffffffffu, 0x80000000u}) {
      EXPECT_FALSE(
          accepted_after(Format::Local16, [&](Bytes& m) { number_at<std::uint32_t>(m, 16 + 4 * group) += by; }));
    }
  }
  EXPECT_FALSE(accepted_after(Format::Local16, [](Bytes& m) {
    number_at<std::uint32_t>(m, 16) += 1;
    number_at<std::uint32_t>(m, 20) -= 1;
  }));
  EXPECT_FALSE(accepted_after(Format::Local16, [](Bytes& m) {
    number_at<std::uint32_t>(m, 16) += 0x80000000u;
    number_at<std::uint32_t>(m, 20) += 0x80000000u;
  }));
}

TEST(Damage, AMapHasAsManyBitsAsEntriesAndNoneBeyondTheEnd) {
  const Sparse sparse = some_sparse();
  const std::size_t last = 16 + length / 8;
  EXPECT_FALSE(accepted_after(Format::Bitmap, [&](Bytes& m) { number_at<std::uint8_t>(m, 16) ^= 1; }));
  EXPECT_FALSE(accepted_after(Format::Bitmap, [&](Bytes& m) { number_at<std::uint8_t>(m, last) |= 4; }));
  EXPECT_FALSE(accepted_after(Format::Bitmap, [&](Bytes& m) {
    number_at<std::uint8_t>(m, last) = static_cast<std::uint8_t>(number_at<std::uint8_t>(m, last) << 1);
  }));
  EXPECT_TRUE(accepted_after(Format::Bitmap, [&](Bytes& m) {
    number_at<std::uint8_t>(m, last) = static_cast<std::uint8_t>(number_at<std::uint8_t>(m, last) >> 1);
  }));
}

TEST(Damage, WhateverChangesAMessageItIsRefusedOrReadAsItsFormatIsDefined) {
  std::mt19937_64 random(9);
  for (int game = 0; game < 8000; ++game) {
    std::vector<std::uint8_t> bytes(5 + random() % 40);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    ASSERT_EQ(play_entries_game(backend(), bytes), "") << "game " << game;
  }
}

}  // namespace
}  // namespace lacuna::kernels
