#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "algorithms/ok_topk/quotas.hpp"

// How ranks agree on how many sums each of them brings to the result.
namespace lacuna::test {
namespace {

using Sums = std::vector<std::vector<float>>;  // by rank

std::vector<std::uint32_t> offer_of(const std::vector<float>& sums, std::size_t k, Rank size) {
  std::vector<std::uint32_t> sample(ok::most_sampled), offer(ok::words_of_offer(k, size), 77);
  ok::make_offer(kernels::best_backend(), {Dtype::F32, reinterpret_cast<const std::byte*>(sums.data()), sums.size()},
                 sample, offer, k, size);
  return offer;
}

struct Shared {
  std::vector<std::uint64_t> quotas;
  double least = 0;
};
Shared share_out(const Sums& sums, std::size_t k) {
  const auto size = static_cast<Rank>(sums.size());
  std::vector<std::uint32_t> words;
  for (const auto& own : sums) {
    const std::vector<std::uint32_t> offer = offer_of(own, k, size);
    words.insert(words.end(), offer.begin(), offer.end());
  }
  Shared shared{std::vector<std::uint64_t>(sums.size(), 77)};
  std::vector<std::uint64_t> workspace(2 * sums.size());
  shared.least = ok::number_of_offered(Dtype::F32, ok::share_out({words, k, size}, shared.quotas, workspace));
  return shared;
}

/// Draws that many sums for each rank, around a scale of its own.
Sums drawn(const std::vector<std::size_t>& counts, const std::vector<float>& scales, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Sums sums;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    sums.emplace_back(counts[rank]);
    for (float& sum : sums.back()) sum = scales[rank] * normal(random);
  }
  return sums;
}

std::vector<float> magnitudes(const std::vector<float>& sums) {
  std::vector<float> all;
  for (float sum : sums) all.push_back(std::abs(sum));
  std::sort(all.begin(), all.end(), std::greater<>());
  return all;
}

TEST(OkQuotas, AddUpToKOrToAllSumsWhereTheseAreFewer) {
  for (std::size_t k : {1u, 2u, 7u, 100u, 999u, 5000u}) {
    for (const std::vector<std::size_t>& counts : {std::vector<std::size_t>{300},
                                                   {0, 0, 0},
                                                   {900, 0, 900, 30},
                                                   {1, 1, 1},
                                                   {200, 210, 190, 205, 195, 200, 220, 180}}) {
      const Sums sums = drawn(counts, std::vector<float>(counts.size(), 1), 3);
      const std::vector<std::uint64_t> quotas = share_out(sums, k).quotas;
      std::size_t all = 0;
      for (std::size_t rank = 0; rank < counts.size(); ++rank) {
        EXPECT_LE(quotas[rank], counts[rank]);
        all += counts[rank];
      }
      EXPECT_EQ(std::accumulate(quotas.begin(), quotas.end(), std::uint64_t{0}), std::min(all, k));
    }
  }
}

/// Sums may be missed by no more than a step: what a rank leaves behind its next step is not above the least sum that
/// others bring.
TEST(OkQuotas, TakeTheLargestSumsWhereverTheyLie) {
  for (const std::vector<float>& scales :
       {std::vector<float>{1, 1, 1, 1, 1}, {1, 2, 3, 4, 5}, {0.01f, 0.01f, 100, 0.01f, 1}}) {
    constexpr std::size_t k = 400;
    const Sums sums = drawn({900, 1000, 1100, 1000, 300}, scales, 5);
    const Shared shared = share_out(sums, k);
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      const std::vector<float> own = magnitudes(sums[rank]);
      const std::size_t quota = shared.quotas[rank], next = ok::end_of_step(quota, k, 5);
      if (quota > 0) {
        EXPECT_GE(own[quota - 1], shared.least) << rank;
      }
      if (quota < k && next < own.size()) {
        EXPECT_LE(own[next], shared.least) << rank;
      }
    }
  }
}

TEST(OkQuotas, OfEqualSumsAreThoseOfTheLowerRanks) {
  const Shared shared = share_out({std::vector<float>(9, 2), std::vector<float>(9, -2), std::vector<float>(9, 3)}, 12);
  EXPECT_EQ(shared.quotas, (std::vector<std::uint64_t>{3, 0, 9}));
  EXPECT_EQ(shared.least, 2);
}

/// One rank holds all sums, so it brings them alone.
TEST(OkQuotas, OfARankThatHasAllSumsAreAllOfThem) {
  for (Rank size : {1, 4, 64, 1000}) {
    Sums sums(static_cast<std::size_t>(size));
    sums.back() = drawn({5000}, {1}, 2)[0];
    EXPECT_EQ(share_out(sums, 3000).quotas.back(), 3000u) << size;
  }
}

TEST(OkQuotas, NeedNoMoreThanAFewDozenNumbersOfEachRank) {
  for (std::size_t k : {1u, 30u, 1000u, 1000000u}) {
    for (Rank size : {1, 2, 8, 64, 1024}) EXPECT_LE(ok::words_of_offer(k, size), 50u) << k << " of " << size;
  }
  EXPECT_EQ(ok::words_of_offer(1, 8), 2u);
}

/// For each step an offer has the magnitude of the last sum, as exactly as a sample of that many can tell.
TEST(OkQuotas, OffersOfLongListsAreCloseToTheirMagnitudes) {
  constexpr std::size_t k = 100000;
  const std::vector<float> sums = drawn({8 * ok::most_sampled - 3}, {1}, 4)[0], own = magnitudes(sums);
  const std::vector<std::uint32_t> offer = offer_of(sums, k, 8);
  EXPECT_EQ(offer[0], sums.size());
  std::size_t end = 0;
  for (std::size_t step = 1; step < offer.size() && end < own.size(); ++step) {
    end = std::min(ok::end_of_step(end, k, 8), own.size());
    const double told = ok::number_of_offered(Dtype::F32, offer[step]);
    const auto above = std::count_if(own.begin(), own.end(), [&](float one) { return one > told; });
    EXPECT_NEAR(static_cast<double>(above) / static_cast<double>(end), 1, 0.1) << end;
  }
}

/// An offer has the upper half of an f64. The order stays the same.
TEST(OkQuotas, OffersOfAllFloatingTypesOrderAsTheirSums) {
  const std::vector<double> sums = {1e300, -3, 2.5, 1e-300};
  std::vector<std::uint32_t> sample(ok::most_sampled), offer(ok::words_of_offer(4, 1));
  ok::make_offer(kernels::best_backend(), {Dtype::F64, reinterpret_cast<const std::byte*>(sums.data()), sums.size()},
                 sample, offer, 4, 1);
  ASSERT_EQ(offer.size(), 5u);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_NEAR(ok::number_of_offered(Dtype::F64, offer[1 + i]) / std::abs(sums[i]), 1, 1e-6) << i;
  }
}

/// All other sums of its rank are small, and those of the other ranks fill the result.
TEST(OkQuotas, ASumThatIsNotFiniteIsTakenWhateverStandsBesideIt) {
  Sums sums = drawn({400, 400, 400}, {1, 100, 100}, 3);
  sums[0][250] = std::numeric_limits<float>::infinity();
  const Shared shared = share_out(sums, 60);
  EXPECT_GE(shared.quotas[0], 1u);
  EXPECT_EQ(std::accumulate(shared.quotas.begin(), shared.quotas.end(), std::uint64_t{0}), 60u);
}

}  // namespace
}  // namespace lacuna::test
