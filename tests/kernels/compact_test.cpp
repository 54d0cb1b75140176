#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/selection.hpp"

namespace lacuna::test {
namespace {

using kernels::Cut;
using kernels::EntriesList;
using kernels::EntriesView;

/// Room for entries in memory, and the number of entries that a kernel has counted.
struct List {
  List(Dtype of, std::size_t room_for, std::size_t offset = 0)
      : dtype(of), room(room_for), places(room_for * 4, 0), values(room_for * size_of(of), offset) {}
  EntriesList list(std::uint32_t base = 0) {
    return {reinterpret_cast<std::uint32_t*>(places.data()), values.data(), room, base};
  }
  std::uint32_t place(std::size_t i) { return static_cast<std::uint32_t>(element(Dtype::I32, places.data(), i)); }
  std::uint64_t value(std::size_t i) { return element(dtype, values.data(), i); }

  Dtype dtype;
  std::size_t room;
  Block places, values;
  std::uint64_t taken = 0;
};

class Compact : public ::testing::TestWithParam<Dtype> {
 protected:
  Dtype dtype() const { return GetParam(); }
  std::uint64_t magnitude(double number) const { return oracle::encode(dtype(), number); }

  /// Cuts that take few elements, some of the ties, everything, or nothing.
  std::vector<Cut> cuts(const Elements& elements) const {
    const std::uint64_t some = elements.empty() ? 1 : elements[elements.size() / 2] & ~sign_of(dtype());
    return {{some, 0}, {some, 1}, {some, 3},           {some, 1'000'000},     {magnitude(0.9), 0},
            {0, 0},    {0, 5},    {~std::uint64_t{0}}, {~std::uint64_t{0}, 9}};
  }

  void expect_compacted(const Elements& elements, const Cut& cut, std::size_t offset, std::size_t before) {
    constexpr std::uint32_t base = 1000;
    const auto expected = taken_places(dtype(), elements, cut);
    Block block = block_of(dtype(), elements, offset);
    List list(dtype(), before + expected.size(), offset);
    list.taken = before;
    tested().compact({dtype(), block.data(), elements.size()}, &cut, list.list(base), &list.taken);
    ASSERT_EQ(list.taken, before + expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(list.place(before + i), base + expected[i]);
      ASSERT_EQ(list.value(before + i), elements[expected[i]]);
    }
    ASSERT_TRUE(list.places.guards_hold() && list.values.guards_hold());
    std::uint64_t counted = 7;
    tested().count({dtype(), block.data(), elements.size()}, &cut, &counted);
    ASSERT_EQ(counted, expected.size());
  }
};

TEST_P(Compact, TheListAndTheCountAreOfWhatTheCutTakes) {
  for (const auto& [name, draw] : inputs) {
    for (std::size_t count : {0u, 1u, 7u, 8u, 9u, 31u, 32u, 1000u, 2047u, 2048u, 2049u, 4096u, 10'001u}) {
      const Elements elements = drawn(draw, dtype(), count);
      for (const Cut& cut : cuts(elements)) {
        SCOPED_TRACE(testing::Message() << name << " " << count << ", above " << cut.above << ", ties " << cut.ties);
        ASSERT_NO_FATAL_FAILURE(expect_compacted(elements, cut, 0, 0));
      }
    }
  }
}

TEST_P(Compact, TheAddressDoesNotMatter) {
  const Elements elements = drawn(draw_bits, dtype(), 5003);
  for (std::size_t offset : {1u, 3u, 4u, 6u}) {
    for (const Cut& cut : cuts(elements)) ASSERT_NO_FATAL_FAILURE(expect_compacted(elements, cut, offset, 0));
  }
}

TEST_P(Compact, AppendsToWhatIsThere) {
  const Elements elements = drawn(draw_few_values, dtype(), 5003);
  for (const Cut& cut : cuts(elements)) ASSERT_NO_FATAL_FAILURE(expect_compacted(elements, cut, 0, 11));
}

TEST_P(Compact, TakesTheFirstOfItsTiesOverMoreThanOneStretch) {
  const Elements elements = drawn(draw_equal, dtype(), 3 * 2048);
  for (std::uint64_t ties : {1u, 2047u, 2048u, 2049u, 5000u, 3u * 2048u}) {
    ASSERT_NO_FATAL_FAILURE(expect_compacted(elements, {magnitude(1.5), ties}, 0, 0));
  }
}

TEST_P(Compact, WhatHasNoRoomIsCountedAndNotWritten) {
  const Elements elements = drawn(draw_uniform, dtype(), 6000);
  Block block = block_of(dtype(), elements, 0);
  const Cut cut{magnitude(0.5), 0};
  const auto expected = taken_places(dtype(), elements, cut);
  for (std::size_t room : {std::size_t{0}, std::size_t{1}, expected.size() - 1}) {
    List list(dtype(), room);
    tested().compact({dtype(), block.data(), elements.size()}, &cut, list.list(), &list.taken);
    EXPECT_EQ(list.taken, expected.size());
    for (std::size_t i = 0; i < room; ++i) ASSERT_EQ(list.place(i), expected[i]);
    EXPECT_TRUE(list.places.guards_hold() && list.values.guards_hold());
    tested().compact({dtype(), block.data(), elements.size()}, &cut, list.list(), &list.taken);
    EXPECT_EQ(list.taken, 2 * expected.size());
  }
}

TEST_P(Compact, PlacesReachToTheEndOf32Bits) {
  const Elements elements = drawn(draw_equal, dtype(), 100);
  Block block = block_of(dtype(), elements, 0);
  List list(dtype(), 100);
  const Cut all;
  tested().compact({dtype(), block.data(), 100}, &all, list.list(0xffffff9cu), &list.taken);
  EXPECT_EQ(list.taken, 100u);
  EXPECT_EQ(list.place(0), 0xffffff9cu);
  EXPECT_EQ(list.place(99), 0xffffffffu);
}

TEST_P(Compact, PlacesAbove24BitsAreExact) {
  constexpr std::size_t count = (1u << 24) + 5000;
  Block block(count * size_of(dtype()), 0);
  std::memset(block.data(), 0, count * size_of(dtype()));
  const std::vector<std::uint32_t> places = {3, (1u << 24) - 1, (1u << 24) + 1, (1u << 24) + 2, (1u << 24) + 4999};
  for (std::uint32_t place : places) set_element(dtype(), block.data(), place, magnitude(1));
  List list(dtype(), places.size());
  const Cut all;
  tested().compact({dtype(), block.data(), count}, &all, list.list(), &list.taken);
  ASSERT_EQ(list.taken, places.size());
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(list.place(i), places[i]);
}

class Keep : public Compact {
 protected:
  void expect_kept(const Elements& values, const Cut& cut, std::size_t offset, std::size_t short_of = 0,
                   double factor = 1) {
    constexpr std::uint32_t base = 500;
    Elements rest = drawn(draw_few_values, dtype(), 3 * values.size() + 1), places;
    for (std::size_t i = 0; i < values.size(); ++i) places.push_back(base + 3 * i);
    const auto expected = taken_places(dtype(), values, cut);
    const std::size_t room = expected.size() - std::min(short_of, expected.size());
    Block place_block = block_of(Dtype::I32, places, offset), value_block = block_of(dtype(), values, offset),
          rest_block = block_of(dtype(), rest, offset);
    List kept(dtype(), room, offset);
    kept.taken = 99;
    const EntriesView view{.entries = static_cast<std::uint32_t>(values.size()),
                           .base = base,
                           .places = place_block.data(),
                           .values = value_block.data()};
    tested().keep(view, &cut, kept.list(), {dtype(), rest_block.data(), rest.size(), factor}, &kept.taken);
    ASSERT_EQ(kept.taken, expected.size());
    std::vector<bool> is_kept(values.size(), false);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      is_kept[expected[i]] = true;
      if (i >= room) continue;
      ASSERT_EQ(kept.place(i), places[expected[i]]);
      ASSERT_EQ(kept.value(i), values[expected[i]]);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!is_kept[i])
        rest[3 * i] = oracle::reduce(dtype(), Reduction::Sum, {.second = factor}, rest[3 * i], values[i]);
    }
    for (std::size_t i = 0; i < rest.size(); ++i) {
      ASSERT_TRUE(oracle::same(dtype(), element(dtype(), rest_block.data(), i), rest[i])) << i;
    }
    ASSERT_TRUE(kept.places.guards_hold() && kept.values.guards_hold() && rest_block.guards_hold());
  }
};

TEST_P(Keep, WhatTheCutTakesIsKeptAndTheRestAddedToTheRest) {
  for (const auto& [name, draw] : inputs) {
    for (std::size_t count : {0u, 1u, 100u, 2048u, 2049u, 5003u}) {
      const Elements values = drawn(draw, dtype(), count);
      for (const Cut& cut : cuts(values)) {
        SCOPED_TRACE(testing::Message() << name << " " << count << ", above " << cut.above << ", ties " << cut.ties);
        ASSERT_NO_FATAL_FAILURE(expect_kept(values, cut, 0));
        ASSERT_NO_FATAL_FAILURE(expect_kept(values, cut, 0, 0, 4));
      }
    }
  }
}

TEST_P(Keep, TheAddressDoesNotMatter) {
  const Elements values = drawn(draw_uniform, dtype(), 3001);
  for (std::size_t offset : {1u, 2u, 5u}) ASSERT_NO_FATAL_FAILURE(expect_kept(values, {magnitude(0.5), 0}, offset));
}

TEST_P(Keep, WhatHasNoRoomIsCountedAndNotWritten) {
  const Elements values = drawn(draw_uniform, dtype(), 3001);
  for (std::size_t lacks : {1u, 500u, 3001u})
    ASSERT_NO_FATAL_FAILURE(expect_kept(values, {magnitude(0.5), 0}, 0, lacks));
}

INSTANTIATE_TEST_SUITE_P(All, Compact, ::testing::ValuesIn(float_dtypes),
                         [](const auto& i) { return name_of_dtype(i); });
INSTANTIATE_TEST_SUITE_P(All, Keep, ::testing::ValuesIn(float_dtypes), [](const auto& i) { return name_of_dtype(i); });

}  // namespace
}  // namespace lacuna::test
