#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/kernels/backends.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/selection.hpp"

namespace lacuna::kernels {
namespace {

using namespace lacuna::test;

using Places = std::vector<std::uint32_t>;

constexpr std::uint32_t longest = std::numeric_limits<std::uint32_t>::max();
/// About the number of entries of a section, of a team, and of all teams together when sections begin to grow.
constexpr std::size_t piece = 128, team = 32 * piece, all_teams = 63 * team;

/// A list of entries in any order.
struct List {
  Dtype dtype;
  Places places;
  Elements values;
  std::size_t length;
  std::uint32_t base = 0;
  std::uint32_t to_base = 0;
};

/// What a sort should give.
struct Result {
  Places places;
  Elements values;
  bool sound = true;
};

Result plainly_sorted(const List& list) {
  std::vector<std::size_t> order(list.places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return list.places[a] < list.places[b]; });
  Result result;
  for (std::size_t i : order) {
    if (list.places[i] < list.base || list.places[i] - list.base >= list.length) {
      result.sound = false;
    } else if (!result.places.empty() && result.places.back() == list.places[i] - list.base) {
      std::uint64_t& sum = result.values.back();
      sum = oracle::reduce(list.dtype, Reduction::Sum, {}, sum, list.values[i]);
    } else {
      result.places.push_back(list.places[i] - list.base);
      result.values.push_back(list.values[i]);
    }
  }
  return result;
}

Places random_places(std::size_t count, std::uint64_t below) {
  Random random(count + below);
  Places places(count);
  for (std::uint32_t& place : places) place = static_cast<std::uint32_t>(random() % below);
  return places;
}

/// A list of these places, with values whose sums are rounded.
List list_of(Dtype dtype, Places places, std::size_t length) {
  Elements values = drawn(draw_normal, dtype, places.size());
  return {dtype, std::move(places), std::move(values), length};
}

class Sort : public EachBackend {
 protected:
  void expect_sorted(const List& list, std::size_t offset = 0) const {
    const std::size_t count = list.places.size(), element_bytes = size_of(list.dtype);
    Result expected = plainly_sorted(list);
    for (std::uint32_t& place : expected.places) place += list.to_base;
    Block places = block_of(Dtype::I32, Elements(list.places.begin(), list.places.end()), offset);
    Block values = block_of(list.dtype, list.values, offset);
    Block to_places(4 * count, 0), to_values(element_bytes * count, offset);
    Block spare_places(4 * count, 0), spare_values(element_bytes * count, offset);
    Block workspace(Backend::workspace_bytes(), 0);
    std::uint64_t taken = 77, sound = 77;
    backend().sort(
        list.dtype, {Format::Coordinates, static_cast<std::uint32_t>(count), list.base, places.data(), values.data()},
        list.length, {reinterpret_cast<std::uint32_t*>(to_places.data()), to_values.data(), count, list.to_base},
        {reinterpret_cast<std::uint32_t*>(spare_places.data()), spare_values.data(), count}, workspace.data(), &taken,
        &sound);
    ASSERT_EQ(sound, expected.sound ? 1u : 0u);
    ASSERT_EQ(taken, expected.places.size());
    const Elements found = elements_of(Dtype::I32, to_places.data(), taken);
    ASSERT_EQ(Places(found.begin(), found.end()), expected.places);
    for (std::size_t i = 0; i < taken; ++i) {
      ASSERT_TRUE(oracle::same(list.dtype, element(list.dtype, to_values.data(), i), expected.values[i])) << i;
    }
    for (const Block* block : {&to_places, &to_values, &spare_places, &spare_values, &workspace}) {
      ASSERT_TRUE(block->guards_hold());
    }
  }
};

TEST_P(Sort, PlacesAscendAndTheirValuesGoWithThem) {
  for (Dtype dtype : float_dtypes) {
    for (std::size_t length : {1u, 2u, 100u, 255u, 256u, 65535u, 65536u, (1u << 24) - 1, (1u << 24) + 5, longest}) {
      for (std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{50}, 5 * team + 17}) {
        SCOPED_TRACE(testing::Message() << to_string(dtype) << " " << count << " of " << length);
        ASSERT_NO_FATAL_FAILURE(expect_sorted(list_of(dtype, random_places(count, length), length)));
      }
    }
  }
}

TEST_P(Sort, AnyNumberOfEntriesIsSorted) {
  for (std::size_t edge : {piece, 2 * piece, team, 2 * team, all_teams}) {
    for (std::size_t count : {edge - 1, edge, edge + 1}) {
      SCOPED_TRACE(count);
      ASSERT_NO_FATAL_FAILURE(expect_sorted(list_of(Dtype::BF16, random_places(count, longest), longest)));
    }
  }
}

TEST_P(Sort, TheOrderOfTheListDoesNotMatter) {
  constexpr std::size_t count = 3 * team + 5;
  constexpr std::uint32_t step = 1000;
  Places ascending(count), saw(count), last_is_first(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ascending[i] = i * step;
    saw[i] = i % 100 * step + i;
    last_is_first[i] = i + 1 < count ? (i + 1) * step : 0;
  }
  const Places descending(ascending.rbegin(), ascending.rend());
  for (Dtype dtype : float_dtypes) {
    for (const Places& places : {ascending, descending, saw, last_is_first}) {
      ASSERT_NO_FATAL_FAILURE(expect_sorted(list_of(dtype, places, count * step)));
    }
  }
}

/// Another order of additions would give another sum for this list.
void expect_order_to_matter(List list) {
  const Elements forward = plainly_sorted(list).values;
  std::reverse(list.places.begin(), list.places.end());
  std::reverse(list.values.begin(), list.values.end());
  ASSERT_NE(forward, plainly_sorted(list).values);
}

TEST_P(Sort, ValuesOfOnePlaceAreAddedInTheirOrderEachTimeRounded) {
  for (Dtype dtype : float_dtypes) {
    for (std::uint32_t different : {1u, 3u, 500u}) {
      Places places = random_places(3 * team + 5, different);
      for (std::uint32_t& place : places) place = place * 70'001 + 11;
      List list = list_of(dtype, std::move(places), 70'001 * 500);
      SCOPED_TRACE(testing::Message() << to_string(dtype) << " " << different);
      ASSERT_NO_FATAL_FAILURE(expect_order_to_matter(list));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(list));
    }
  }
}

TEST_P(Sort, ValuesOfAListInOrderAreAddedUpToo) {
  for (Dtype dtype : float_dtypes) {
    Places places = random_places(2 * team, 300);
    std::sort(places.begin(), places.end());
    const List list = list_of(dtype, std::move(places), 300);
    ASSERT_NO_FATAL_FAILURE(expect_order_to_matter(list));
    ASSERT_NO_FATAL_FAILURE(expect_sorted(list));
  }
}

TEST_P(Sort, ValuesMayBeAnyBits) {
  for (Dtype dtype : float_dtypes) {
    const Places places = random_places(team, 5000);
    ASSERT_NO_FATAL_FAILURE(expect_sorted({dtype, places, drawn(draw_bits, dtype, places.size()), 5000}));
  }
}

TEST_P(Sort, PlacesOutOfRangeAreLeftOutAndTold) {
  for (Dtype dtype : float_dtypes) {
    for (std::size_t length : {0u, 1u, 100u, 255u, 256u, 65535u, longest}) {
      for (std::uint32_t beyond : {static_cast<std::uint32_t>(length), longest}) {
        for (std::size_t at : {std::size_t{0}, team, 2 * team - 1}) {
          Places places = random_places(2 * team, std::max<std::size_t>(length, 1));
          places[at] = beyond;
          SCOPED_TRACE(testing::Message() << to_string(dtype) << " " << beyond << " of " << length << " at " << at);
          ASSERT_NO_FATAL_FAILURE(expect_sorted(list_of(dtype, places, length)));
          std::sort(places.begin(), places.end());
          ASSERT_NO_FATAL_FAILURE(expect_sorted(list_of(dtype, places, length)));
        }
      }
    }
  }
}

TEST_P(Sort, NothingIsTakenWhereAllPlacesAreOutOfRange) {
  const Places places = random_places(team, 1000);
  ASSERT_NO_FATAL_FAILURE(expect_sorted(list_of(Dtype::F32, places, 0)));
  ASSERT_NO_FATAL_FAILURE(expect_sorted({Dtype::F32, places, Elements(team, 0), 1000, 5000}));
}

TEST_P(Sort, PlacesAreCountedFromTheBase) {
  for (std::uint32_t base : {1u, 1000u, longest - 4095}) {
    for (std::uint32_t beyond : {base, base - 1, longest, 0u}) {
      Places places = random_places(team, 4095);
      for (std::uint32_t& place : places) place += base;
      places.back() = beyond;
      List list = list_of(Dtype::F64, std::move(places), 4095);
      list.base = base;
      SCOPED_TRACE(testing::Message() << beyond << " from " << base);
      ASSERT_NO_FATAL_FAILURE(expect_sorted(list));
    }
  }
}

TEST_P(Sort, TheBaseOfTheResultIsAddedToItsPlaces) {
  List list = list_of(Dtype::F32, random_places(team, 5000), 5000);
  list.base = 7;
  list.to_base = longest - 5000;
  ASSERT_NO_FATAL_FAILURE(expect_sorted(list));
}

TEST_P(Sort, TheAddressDoesNotMatter) {
  for (Dtype dtype : float_dtypes) {
    for (std::size_t offset : {1u, 2u, 3u, 6u}) {
      ASSERT_NO_FATAL_FAILURE(expect_sorted(list_of(dtype, random_places(team, 2000), 2000), offset));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(list_of(dtype, {0, 5, 5, 1999}, 2000), offset));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Sort, testing::ValuesIn(backend_names()), name_of_backend);

}  // namespace
}  // namespace lacuna::kernels
