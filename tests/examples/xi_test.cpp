#include "examples/workloads/fashion_mnist/xi.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna::workloads {
namespace {

using Values = std::vector<float>;

/// Returns xi of one rank and tensor, from the result and how many elements it was to have.
double xi_of(const Values& input, const Values& average, std::size_t entries, const MethodState& state = {}) {
  auto ranks = test::local(1, Progress::Caller);
  Xi xi;
  xi.begin(0, {}, state, input);
  xi.end(0, average, entries);
  const Result<double> measured = xi.measure(ranks[0]);
  EXPECT_TRUE(measured) << measured.status().to_string();
  return measured ? *measured : -1;
}

/// Returns that many of the largest values; of equal ones the first.
Values largest(Values values, std::size_t entries) {
  std::vector<std::size_t> places(values.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
  for (std::size_t i = entries; i < places.size(); ++i) values[places[i]] = 0;
  return values;
}

TEST(Xi, IsZeroWhereExactlyAsManyOfTheLargestComeOutAsWereAskedForAlsoOfEqualOnes) {
  for (const Values& input : {Values{1, -2, 3, -4, 5, -6}, Values{5, -5, 5, 5, -5, 5}, Values{1, 7, -7, 7, 2, 2},
                              Values{0, 0, 3, 0, 0, 0}, Values{-1}}) {
    for (std::size_t entries = 0; entries <= input.size() + 1; ++entries) {
      EXPECT_EQ(xi_of(input, largest(input, std::min(entries, input.size())), entries), 0) << entries;
    }
  }
}

TEST(Xi, IsTheNormOfWhatTheResultLacksOverThatOfTheInput) {
  const Values input = {3, 4, 12, 0};  // its norm is 13
  EXPECT_DOUBLE_EQ(xi_of(input, {0, 0, 12, 0}, 2), 4.0 / 13);
  EXPECT_DOUBLE_EQ(xi_of(input, {3, 4, 12, 0}, 2), 3.0 / 13) << "what came out too much";
  EXPECT_DOUBLE_EQ(xi_of(input, {0, 0, 0, 0}, 2), std::sqrt(160.0) / 13);
}

TEST(Xi, LooksAtWhatWasKeptAndAtTheInput) {
  MethodState state;
  Values kept = {0, 10, 0};
  state.arrays.push_back(
      {.name = "residual", .dtype = Dtype::F32, .own = true, .bytes = MemoryBlock(std::as_bytes(std::span(kept)))});
  EXPECT_EQ(xi_of({4, -3, 0}, {0, 7, 0}, 1, state), 0) << "4, 7 and 0 are there";
  EXPECT_DOUBLE_EQ(xi_of({4, -3, 0}, {4, 0, 0}, 1, state), std::sqrt(65.0) / 5);
}

TEST(Xi, OfAnInputOfZerosIsNoNumber) { EXPECT_TRUE(std::isnan(xi_of({0, 0}, {0, 0}, 1))); }

}  // namespace
}  // namespace lacuna::workloads
