#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/selection.hpp"

namespace lacuna::test {
namespace {

using Places = std::vector<std::uint32_t>;

/// About one of `step` places, in order.
Places some_places(std::size_t length, std::size_t step) {
  Random random(length + step);
  Places places;
  for (std::size_t i = 0; i < length; ++i) {
    if (random() % step == 0) places.push_back(static_cast<std::uint32_t>(i));
  }
  return places;
}

/// The most by which the number of places in [begin, border) differs from an even share of those in [begin, end),
/// rounded up.
std::int64_t skew_of(const Places& places, std::size_t begin, std::size_t end) {
  const auto within = [&](std::size_t from, std::size_t to) {
    return std::count_if(places.begin(), places.end(), [&](std::size_t place) { return place >= from && place < to; });
  };
  double most = 0;
  for (std::size_t border = begin; border <= end && begin < end; ++border) {
    const double even = static_cast<double>(within(begin, end)) * static_cast<double>(border - begin) /
                        static_cast<double>(end - begin);
    most = std::max(most, std::abs(static_cast<double>(within(begin, border)) - even));
  }
  return static_cast<std::int64_t>(std::ceil(most - 1e-9));
}

TEST(PlacesHistogram, SkewsAreHowFarPlacesAreFromEvenlySpreadInTheirBin) {
  for (std::size_t length : {1u, 7u, 64u, 300u}) {
    for (std::size_t number : {1u, 3u, 8u}) {
      std::vector<Places> all = {some_places(length, 1), some_places(length, 2), some_places(length, 9), {}};
      for (std::size_t i = 0; i < length / 3; ++i)
        all.back().push_back(static_cast<std::uint32_t>(length - length / 3 + i));
      for (const Places& places : all) {
        std::vector<std::int64_t> expected(number, 7), bins(number), skews(number, 7);
        for (std::size_t bin = 0; bin < number; ++bin) {
          const auto border = [&](std::size_t i) { return (i * length + number - 1) / number; };
          expected[bin] += skew_of(places, border(bin), border(bin + 1));
        }
        tested().histogram(places, length, bins, skews);
        ASSERT_EQ(skews, expected) << length << " in " << number;
      }
    }
  }
}

TEST(PlacesHistogram, PutsEachPlaceIntoTheBinThatItsShareOfTheLengthNames) {
  for (std::size_t length : {1u, 2u, 7u, 1000u, 4097u}) {
    for (std::size_t number : {1u, 2u, 3u, 8u, 4096u}) {
      for (std::size_t step : {1u, 3u, 50u}) {
        const Places places = some_places(length, step);
        std::vector<std::int64_t> expected(number, 5), bins(number, 5), skews(number);
        for (std::uint64_t place : places) ++expected[place * number / length];
        tested().histogram(places, length, bins, skews);
        ASSERT_EQ(bins, expected) << length << " in " << number;
      }
    }
  }
}

TEST(PlacesHistogram, BinsStartAtTheCeilingOfTheirShareUpTo32Bits) {
  constexpr std::size_t length = 0xffffffffu, number = 4096;
  Places places;
  for (std::size_t bin = 0; bin < number; ++bin) {
    const std::size_t begin = (bin * length + number - 1) / number;
    for (std::size_t place = begin < 2 ? 0 : begin - 2; place < begin + 2; ++place) {
      places.push_back(static_cast<std::uint32_t>(place));
    }
  }
  places.push_back(0xfffffffeu);
  std::vector<std::int64_t> expected(number, 0), bins(number, 0), skews(number);
  for (std::uint64_t place : places) ++expected[place * number / length];
  tested().histogram(places, length, bins, skews);
  EXPECT_EQ(bins, expected);
}

TEST(PlacesHistogram, OfNoPlacesAddsNothing) {
  std::vector<std::int64_t> bins(4, 3), skews(4, 2);
  tested().histogram({}, 100, bins, skews);
  EXPECT_EQ(bins, (std::vector<std::int64_t>{3, 3, 3, 3}));
  EXPECT_EQ(skews, (std::vector<std::int64_t>{2, 2, 2, 2}));
}

std::size_t number_below(const Places& places, std::uint64_t bound) {
  return static_cast<std::size_t>(
      std::count_if(places.begin(), places.end(), [&](std::uint64_t place) { return place < bound; }));
}

TEST(PlacesRange, IsWhatLiesFromItsBeginUpToItsEnd) {
  for (const Places& places :
       {Places{}, Places{0}, Places{5}, some_places(300, 2), Places{7, 0xfffffffeu, 0xffffffffu}}) {
    std::vector<std::uint64_t> bounds = {0, 1, 100, 299, 300, 0xffffffffu, std::uint64_t{1} << 32};
    for (std::uint32_t place : places) bounds.insert(bounds.end(), {place, place + std::uint64_t{1}});
    for (std::uint64_t begin : bounds) {
      for (std::uint64_t end : bounds) {
        if (end < begin) continue;
        kernels::Between found{77, 77};
        tested().find_range(places, begin, end, &found);
        ASSERT_EQ(found.first, number_below(places, begin)) << begin;
        ASSERT_EQ(found.last, number_below(places, end)) << begin << " to " << end;
      }
    }
  }
}

TEST(PlacesSample, HasThePlacesAtEvenDistancesOfAnyShareAndHowManyThereAre) {
  for (const Places& places : {some_places(1000, 1), some_places(1000, 7), Places{}, Places{400}}) {
    for (const auto& [begin, end] : {std::pair{0u, 1000u}, {100u, 101u}, {250u, 750u}, {999u, 1000u}}) {
      const std::size_t first = number_below(places, begin), count = number_below(places, end) - first;
      for (std::size_t samples : {1u, 2u, 40u, 3000u}) {
        for (std::size_t share : {1u, 3u, 7u}) {
          std::vector<std::uint32_t> words(1 + samples, 0xeeeeeeee);
          tested().sample_places(places, {begin, end, samples, share, 8}, words.data());
          ASSERT_EQ(words[0], count);
          for (std::size_t i = 0; i < samples; ++i) {
            const std::size_t before = (8 * i + share) * count / (8 * samples);
            ASSERT_EQ(words[1 + i], count == 0 ? begin : places[first + before]) << i << " of " << samples;
          }
        }
      }
    }
  }
}

TEST(PlacesCommon, AreThoseThatBothListsHaveInOrder) {
  for (std::size_t step : {1u, 2u, 30u}) {
    for (const Places& others : {Places{}, Places{0}, some_places(1000, 3), some_places(1003, 2)}) {
      const Places places = some_places(1001, step);
      Places expected, found(places.size(), 0xeeeeeeee);
      std::set_intersection(places.begin(), places.end(), others.begin(), others.end(), std::back_inserter(expected));
      std::uint64_t count = 77;
      tested().find_common(places, others, found.data(), &count);
      ASSERT_EQ(count, expected.size());
      const auto end = found.begin() + static_cast<std::ptrdiff_t>(count);
      ASSERT_TRUE(std::equal(found.begin(), end, expected.begin()));
      ASSERT_TRUE(std::all_of(end, found.end(), [](std::uint32_t place) { return place == 0xeeeeeeee; }));
    }
  }
}

TEST(PlacesCommon, OfNoPlacesAreNone) {
  std::uint64_t count = 77;
  tested().find_common({}, Places{1, 2}, nullptr, &count);
  EXPECT_EQ(count, 0u);
}

TEST(PlacesBeyond, AreCountedAndTheFirstIsNamed) {
  Places places(1000, 99);
  const auto found_in = [&](std::size_t length) {
    kernels::Beyond found{77, 77, 77};
    tested().find_beyond(places, length, &found);
    return found;
  };
  EXPECT_EQ(found_in(100).count, 0u);
  EXPECT_EQ(found_in(99).count, 1000u);
  EXPECT_EQ(found_in(99).entry, 0u);
  for (std::size_t first : {0u, 500u, 999u}) {
    places.assign(1000, 99);
    for (std::size_t i = first; i < places.size(); i += 300) places[i] = static_cast<std::uint32_t>(0xffffffffu - i);
    const kernels::Beyond found = found_in(100);
    EXPECT_EQ(found.count, (places.size() - first + 299) / 300);
    EXPECT_EQ(found.entry, first);
    EXPECT_EQ(found.place, 0xffffffffu - first);
  }
}

class AtPlaces : public ::testing::TestWithParam<Dtype> {
 protected:
  Dtype dtype() const { return GetParam(); }

  template <class Run, class Expected>
  void expect(const Run& run, const Expected& expected_of) {
    for (std::size_t length : {1u, 9u, 1000u}) {
      for (std::size_t offset : {0u, 1u, 6u}) {
        Elements elements = drawn(draw_bits, dtype(), length);
        const Places places = some_places(length, 3);
        Block block = block_of(dtype(), elements, offset);
        run(places, block, length);
        expected_of(places, elements);
        for (std::size_t i = 0; i < length; ++i) {
          ASSERT_TRUE(oracle::same(dtype(), element(dtype(), block.data(), i), elements[i])) << i << " of " << length;
        }
        ASSERT_TRUE(block.guards_hold());
      }
    }
  }
};

TEST_P(AtPlaces, WhatIsClearedIsPlusZeroAndNothingElseChanges) {
  expect(
      [&](const Places& places, Block& block, std::size_t length) {
        tested().clear_at(places, {dtype(), block.data(), length});
      },
      [](const Places& places, Elements& elements) {
        for (std::uint32_t place : places) elements[place] = 0;
      });
}

TEST_P(AtPlaces, ValuesAreAddedAndRoundedOnce) {
  const Elements values = drawn(draw_bits, dtype(), 1000);
  Block block_of_values = block_of(dtype(), values, 3);
  expect(
      [&](const Places& places, Block& block, std::size_t length) {
        tested().add_at(places, block_of_values.data(), {dtype(), block.data(), length});
      },
      [&](const Places& places, Elements& elements) {
        for (std::size_t i = 0; i < places.size(); ++i) {
          elements[places[i]] = oracle::reduce(dtype(), Reduction::Sum, {}, elements[places[i]], values[i]);
        }
      });
}

TEST_P(AtPlaces, WhatIsGatheredHasTheBitsOfItsPlace) {
  for (std::size_t offset : {0u, 1u, 6u}) {
    const Elements elements = drawn(draw_bits, dtype(), 1000);
    const Places places = some_places(1000, 3);
    Block from = block_of(dtype(), elements, offset), to(places.size() * size_of(dtype()), offset);
    tested().gather(places, {dtype(), from.data(), 1000}, to.data());
    for (std::size_t i = 0; i < places.size(); ++i) ASSERT_EQ(element(dtype(), to.data(), i), elements[places[i]]);
    EXPECT_TRUE(to.guards_hold());
  }
}

TEST_P(AtPlaces, PlacesAbove24BitsAreExact) {
  constexpr std::size_t length = (1u << 24) + 10;
  const Places places = {(1u << 24) - 1, (1u << 24) + 1, (1u << 24) + 9};
  const Elements values = {oracle::encode(dtype(), 1), oracle::encode(dtype(), 2), oracle::encode(dtype(), 3)};
  Block block(length * size_of(dtype()), 0), added = block_of(dtype(), values, 0), gathered(values.size() * 8, 0);
  std::memset(block.data(), 0, length * size_of(dtype()));
  tested().add_at(places, added.data(), {dtype(), block.data(), length});
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(element(dtype(), block.data(), places[i]), values[i]);
  EXPECT_EQ(element(dtype(), block.data(), 1u << 24), 0u);
  tested().gather(places, {dtype(), block.data(), length}, gathered.data());
  EXPECT_EQ(elements_of(dtype(), gathered.data(), values.size()), values);
  tested().clear_at(places, {dtype(), block.data(), length});
  EXPECT_EQ(elements_of(dtype(), block.data() + ((1u << 24) - 2) * size_of(dtype()), 12), Elements(12, 0));
}

INSTANTIATE_TEST_SUITE_P(All, AtPlaces, ::testing::ValuesIn(float_dtypes),
                         [](const auto& i) { return name_of_dtype(i); });

}  // namespace
}  // namespace lacuna::test
