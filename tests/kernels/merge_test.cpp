#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/kernels/backends.hpp"
#include "tests/kernels/oracle.hpp"
#include "tests/support/messages.hpp"

namespace lacuna::kernels {
namespace {

using namespace lacuna::test;

/// All elements of the sum. Each operation is rounded to the accumulation type, in the order of the arrays.
std::vector<std::uint64_t> plain_sum(const std::vector<Sparse>& from, Scale scale, Dtype dtype, std::size_t length) {
  std::vector<double> sums(length, 0.0);
  for (const Sparse& sparse : from) {
    for (std::size_t i = 0; i < sparse.places.size(); ++i) {
      double& sum = sums[sparse.places[i]];
      sum = oracle::accumulated(dtype, sum + oracle::decode(dtype, sparse.values[i]));
    }
  }
  std::vector<std::uint64_t> elements;
  for (double sum : sums) elements.push_back(oracle::scaled(dtype, sum, scale));
  return elements;
}

Sparse not_zero_of(const std::vector<std::uint64_t>& elements, Dtype dtype) {
  Sparse sparse{dtype, elements.size(), {}, {}};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (oracle::decode(dtype, elements[i]) == 0) continue;
    sparse.places.push_back(static_cast<std::uint32_t>(i));
    sparse.values.push_back(elements[i]);
  }
  return sparse;
}

void expect_same(Dtype dtype, const std::vector<std::uint64_t>& actual, const std::vector<std::uint64_t>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_TRUE(oracle::same(dtype, actual[i], expected[i])) << i << ": " << actual[i] << " for " << expected[i];
  }
}

/// The messages of some arrays, which take so many formats in turn. The last format is Dense; with it a sum has many
/// entries.
std::vector<Indexed> messages_of(const Backend& on, const std::vector<Sparse>& from, std::size_t formats) {
  std::vector<Indexed> messages;
  for (const Sparse& sparse : from) {
    const Format format = all_formats[messages.size() % formats];
    auto message = indexed(on, written(sparse, format, 0), sparse.dtype, 0, sparse.length);
    EXPECT_TRUE(message);
    if (message) messages.push_back(*std::move(message));
  }
  return messages;
}

/// Checks that sum() and merge() give the plain sum of these arrays, and that both count its entries.
void check_sums(const Backend& on, const std::vector<Sparse>& from, Scale scale, Dtype dtype, std::size_t length) {
  const std::vector<std::uint64_t> expected = plain_sum(from, scale, dtype, length);
  const Sparse entries = not_zero_of(expected, dtype);
  for (std::size_t formats : {all_formats.size() - 1, all_formats.size()}) {
    const std::vector<Indexed> messages = messages_of(on, from, formats);
    const Summed dense = summed(on, messages, scale, dtype, length);
    expect_same(dtype, dense.elements, expected);
    ASSERT_EQ(dense.entries, entries.places.size());
    const Merged result = merged(on, messages, scale, dtype, length, length);
    ASSERT_EQ(result.taken, entries.places.size());
    ASSERT_EQ(result.sparse.places, entries.places);
    expect_same(dtype, result.sparse.values, entries.values);
  }
}

std::vector<Sparse> drawn(Dtype dtype, std::size_t length, double density, std::size_t arrays) {
  std::mt19937_64 random(arrays + length);
  std::vector<Sparse> all;
  for (std::size_t i = 0; i < arrays; ++i) all.push_back(drawn_sparse(dtype, length, density, random));
  return all;
}

TEST(Merge, SumsOfWholeNumbersAreExactForAllLengthsAndDensities) {
  for (Dtype dtype : float_dtypes) {
    for (std::size_t length : {0u, 1u, 9u, 4095u, 4096u, 4097u, 61439u, 61440u, 61441u, 150000u}) {
      for (double density : {0.0, 0.0001, 0.01, 0.2, 1.0}) {
        if (length > 61440 && density > 0.1 && dtype != Dtype::F16) continue;
        SCOPED_TRACE(std::string(to_string(dtype)) + " " + std::to_string(length) + " " + std::to_string(density));
        ASSERT_NO_FATAL_FAILURE(check_sums(backend(), drawn(dtype, length, density, 5), {}, dtype, length));
      }
    }
  }
}

TEST(Merge, SumsAreRightForAnyNumberOfMessages) {
  for (std::size_t arrays : {0u, 1u, 2u, 63u, 64u, 65u, 300u, 1024u}) {
    SCOPED_TRACE(arrays);
    ASSERT_NO_FATAL_FAILURE(check_sums(backend(), drawn(Dtype::F32, 9000, 0.01, arrays), {}, Dtype::F32, 9000));
  }
}

TEST(Merge, BlocksThatAreEmptyOrFullStandBesideEachOther) {
  constexpr std::size_t length = 300000;
  std::mt19937_64 random(5);
  for (Dtype dtype : {Dtype::F32, Dtype::BF16}) {
    std::vector<Sparse> arrays;
    for (int i = 0; i < 3; ++i) {
      Sparse sparse{dtype, length, {}, {}};
      for (std::uint32_t place = 70000; place < 74000; ++place) sparse.places.push_back(place);
      sparse.places.push_back(163840 + static_cast<std::uint32_t>(i));
      sparse.places.push_back(length - 1);
      for (std::size_t entry = 0; entry < sparse.places.size(); ++entry) {
        sparse.values.push_back(oracle::encode(dtype, static_cast<double>(random() % 9 + 1)));
      }
      arrays.push_back(std::move(sparse));
    }
    ASSERT_NO_FATAL_FAILURE(check_sums(backend(), arrays, {}, dtype, length));
  }
}

TEST(Merge, EachAdditionIsInTheAccumulationTypeInTheOrderOfTheMessagesAndRoundingIsLast) {
  std::mt19937_64 random(6);
  for (Dtype dtype : float_dtypes) {
    for (double density : {0.03, 0.3}) {
      for (const Scale scale : {Scale{}, Scale{1, 8}, Scale{7, 3}}) {
        std::vector<Sparse> arrays = drawn(dtype, 10000, density, 8);
        for (Sparse& sparse : arrays) {
          for (std::uint64_t& value : sparse.values) {
            const double fraction = static_cast<double>(random() >> 11) * 0x1p-53;
            value = oracle::encode(dtype, (fraction - 0.5) * std::ldexp(1.0, static_cast<int>(random() % 12)));
          }
        }
        ASSERT_NO_FATAL_FAILURE(check_sums(backend(), arrays, scale, dtype, 10000)) << to_string(dtype);
      }
    }
  }
}

/// Three arrays with all combinations of some values, at each of so many places.
std::vector<Sparse> special_values(Dtype dtype, std::uint32_t every) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double least[] = {0x1p-149, 0x1p-1074, 0x1p-133, 0x1p-24};
  const double denormal = least[static_cast<std::size_t>(dtype)];
  const std::vector<double> values = {std::nan(""), infinity,  -infinity, -0.0, 0.0,
                                      denormal,     -denormal, 1.0,       -1.0, 65504.0};
  std::vector<Sparse> arrays(3, {dtype, std::size_t{1000} * every, {}, {}});
  for (std::uint32_t combination = 0; combination < 1000; ++combination) {
    std::size_t drawn = combination;
    for (Sparse& sparse : arrays) {
      sparse.places.push_back(combination * every);
      sparse.values.push_back(oracle::encode(dtype, values[drawn % values.size()]));
      drawn /= values.size();
    }
  }
  return arrays;
}

TEST(Merge, SpecialValuesAddUpAsNumbersDo) {
  for (Dtype dtype : float_dtypes) {
    for (std::uint32_t every : {1u, 20u}) {
      const std::vector<Sparse> arrays = special_values(dtype, every);
      for (const Scale scale : {Scale{}, Scale{1, 4}, Scale{3, 1}}) {
        ASSERT_NO_FATAL_FAILURE(check_sums(backend(), arrays, scale, dtype, arrays[0].length)) << to_string(dtype);
      }
    }
  }
}

TEST(Merge, ASumThatCancelsIsNoEntry) {
  for (double density : {0.001, 0.4}) {
    std::vector<Sparse> arrays = drawn(Dtype::F32, 100000, density, 2);
    arrays.push_back(arrays.front());
    for (std::uint64_t& value : arrays.back().values) value ^= 0x80000000;
    const Merged result = merged(backend(), messages_of(backend(), arrays, 3), {}, Dtype::F32, 100000, 100000);
    EXPECT_EQ(result.sparse, arrays[1]);
  }
}

TEST(Merge, EntriesAreAppendedAndThoseWithoutRoomOnlyCounted) {
  const std::vector<Sparse> arrays = drawn(Dtype::F64, 150000, 0.01, 1);
  const std::vector<Indexed> messages = messages_of(backend(), arrays, 3);
  const EntriesView view = messages.front().view;
  const std::uint32_t* before = messages.front().before.data();
  const std::size_t all = arrays[0].places.size();
  std::vector<std::uint32_t> places(all, 7);
  std::vector<double> values(all, 7), work(Backend::merge_places);
  std::uint64_t taken = 5;
  backend().merge({&view, 1}, &before, {}, 150000, {Dtype::F64, reinterpret_cast<std::byte*>(work.data()), work.size()},
                  {places.data(), reinterpret_cast<std::byte*>(values.data()), all - 3}, &taken);
  EXPECT_EQ(taken, all + 5);
  for (std::size_t i = 0; i < all; ++i) {
    const bool written_to = i >= 5 && i < all - 3;
    ASSERT_EQ(places[i], written_to ? arrays[0].places[i - 5] : 7) << i;
    ASSERT_EQ(oracle::to_bits(values[i]), written_to ? arrays[0].values[i - 5] : oracle::to_bits(7.0)) << i;
  }
}

TEST(Merge, TheEntriesOfASumAreAddedToThoseCountedBefore) {
  const std::vector<Sparse> arrays = drawn(Dtype::F32, 150000, 0.01, 1);
  const std::vector<Indexed> messages = messages_of(backend(), arrays, 3);
  const EntriesView view = messages.front().view;
  const std::uint32_t* before = messages.front().before.data();
  std::vector<float> out(150000);
  std::uint64_t entries = 5;
  backend().sum({&view, 1}, &before, {}, {Dtype::F32, reinterpret_cast<std::byte*>(out.data()), out.size()}, &entries);
  EXPECT_EQ(entries, arrays[0].places.size() + 5);
}

TEST(Merge, TheBaseOfTheListIsAddedToPlaces) {
  constexpr std::uint32_t base = 0xffffffff - 150000;
  const std::vector<Sparse> arrays = drawn(Dtype::F64, 150000, 0.01, 1);
  const std::vector<Indexed> messages = messages_of(backend(), arrays, 3);
  const EntriesView view = messages.front().view;
  const std::uint32_t* before = messages.front().before.data();
  std::vector<std::uint32_t> places(arrays[0].places.size()), expected = arrays[0].places;
  for (std::uint32_t& place : expected) place += base;
  std::vector<double> values(places.size()), work(Backend::merge_places);
  std::uint64_t taken = 0;
  backend().merge({&view, 1}, &before, {}, 150000, {Dtype::F64, reinterpret_cast<std::byte*>(work.data()), work.size()},
                  {places.data(), reinterpret_cast<std::byte*>(values.data()), places.size(), base}, &taken);
  EXPECT_EQ(taken, expected.size());
  EXPECT_EQ(places, expected);
}

TEST(Merge, MoreRoomChangesNothing) {
  const std::vector<Sparse> arrays = drawn(Dtype::BF16, 300000, 0.02, 3);
  const std::vector<Indexed> messages = messages_of(backend(), arrays, 3);
  std::vector<EntriesView> views;
  std::vector<const std::uint32_t*> before;
  for (const Indexed& message : messages) views.push_back(message.view), before.push_back(message.before.data());
  const Merged expected = merged(backend(), messages, {}, Dtype::BF16, 300000, 300000);
  std::vector<std::uint16_t> work(5 * Backend::merge_places + 1), values(300000);
  std::vector<std::uint32_t> places(300000);
  std::uint64_t taken = 0;
  backend().merge(views, before.data(), {}, 300000,
                  {Dtype::BF16, reinterpret_cast<std::byte*>(work.data() + 1), work.size() - 1},
                  {places.data(), reinterpret_cast<std::byte*>(values.data()), places.size()}, &taken);
  ASSERT_EQ(taken, expected.taken);
  places.resize(taken);
  values.resize(taken);
  EXPECT_EQ(places, expected.sparse.places);
  EXPECT_EQ(std::vector<std::uint64_t>(values.begin(), values.end()), expected.sparse.values);
}

}  // namespace
}  // namespace lacuna::kernels
