#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/elements.hpp"
#include "runtime/values/region.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/selection.hpp"

namespace lacuna::test {
namespace {

constexpr std::size_t counts[] = {1, 2, 63, 1000, 5000};

Elements drawn_any(Dtype dtype, std::size_t count) {
  Random random(count);
  Elements elements(count);
  for (std::uint64_t& element : elements) element = random() >> (64 - 8 * size_of(dtype));
  return elements;
}

TEST(SampledMagnitudes, AreThoseOfEveryElementAtTheStrideAndOfF64TheirUpperHalves) {
  for (Dtype dtype : float_dtypes) {
    for (std::size_t count : counts) {
      for (std::size_t stride : {1u, 3u, 64u}) {
        const Elements elements = drawn(draw_bits, dtype, count);
        Block block = block_of(dtype, elements, 1);
        std::vector<std::uint32_t> found((count + stride - 1) / stride);
        tested().sample_magnitudes({dtype, block.data(), count}, stride, found);
        for (std::size_t i = 0; i < found.size(); ++i) {
          const std::uint64_t magnitude = elements[i * stride] & ~sign_of(dtype);
          ASSERT_EQ(found[i], dtype == Dtype::F64 ? magnitude >> 32 : magnitude) << to_string(dtype) << " " << i;
        }
      }
    }
  }
}

/// Returns the bin that count_magnitudes() counts a number in: the first bits of its f32, without the sign.
std::size_t bin_of(double number) {
  return (std::bit_cast<std::uint32_t>(static_cast<float>(number)) & 0x7fffffffu) >> 21;
}

TEST(CountedMagnitudes, AddEvenlySpreadElementsOfAllDtypesToTheBinsOfTheirFirstBits) {
  for (Dtype dtype : real_dtypes) {
    for (std::size_t count : counts) {
      for (std::size_t samples : {std::size_t{1}, count / 3 + 1, count}) {
        const Elements elements = is_integer(dtype) ? drawn_any(dtype, count) : drawn(draw_normal, dtype, count);
        Block block = block_of(dtype, elements, 1);
        std::vector<std::uint32_t> bins(kernels::Backend::magnitude_bins, 5), expected = bins;
        for (std::size_t i = 0; i < samples; ++i) {
          ++expected[bin_of(kernels::load_number(dtype, block.data(), boundary(i, count, samples)))];
        }
        tested().count_magnitudes({dtype, block.data(), count}, samples, bins.data());
        ASSERT_EQ(bins, expected) << to_string(dtype) << " " << samples << " of " << count;
      }
    }
  }
}

TEST(CountedMagnitudes, HaveInfinityAndNansOfEitherSignInTheLastBins) {
  for (Dtype dtype : float_dtypes) {
    const std::uint64_t infinity = oracle::encode(dtype, HUGE_VAL), nan = oracle::encode(dtype, NAN);
    Block block = block_of(dtype, Elements{infinity, infinity | sign_of(dtype), nan, nan | sign_of(dtype)}, 0);
    std::vector<std::uint32_t> bins(kernels::Backend::magnitude_bins);
    tested().count_magnitudes({dtype, block.data(), 4}, 4, bins.data());
    EXPECT_EQ(std::accumulate(bins.end() - 4, bins.end(), 0u), 4u) << to_string(dtype);
    EXPECT_GE(bins[1020], 2u) << to_string(dtype);
  }
}

TEST(Compared, SumsAreThoseOfAllElementsInF64) {
  for (Dtype dtype : float_dtypes) {
    for (std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{3000}}) {
      Elements a, b;
      double distance = 0, a_squares = 0, b_squares = 0, products = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double x = static_cast<double>(i % 15) - 7, y = static_cast<double>(i % 11) - 3;
        a.push_back(oracle::encode(dtype, x));
        b.push_back(oracle::encode(dtype, y));
        distance += (x - y) * (x - y);
        a_squares += x * x;
        b_squares += y * y;
        products += x * y;
      }
      Block first = block_of(dtype, a, 1), second = block_of(dtype, b, 3);
      kernels::Comparison sums{77, 77, 77, 77};
      tested().compare({dtype, first.data(), count}, second.data(), &sums);
      EXPECT_EQ(sums.distance, distance) << to_string(dtype) << " " << count;
      EXPECT_EQ(sums.a_squares, a_squares) << to_string(dtype) << " " << count;
      EXPECT_EQ(sums.b_squares, b_squares) << to_string(dtype) << " " << count;
      EXPECT_EQ(sums.products, products) << to_string(dtype) << " " << count;
    }
  }
}

TEST(Compared, HideNoNanAndDoNotOverflowAsTheirDtypeWould) {
  const Elements large(4, oracle::encode(Dtype::F32, 3e38)), none(4, 0);
  Block a = block_of(Dtype::F32, large, 0), b = block_of(Dtype::F32, none, 0);
  kernels::Comparison sums;
  tested().compare({Dtype::F32, a.data(), 4}, b.data(), &sums);
  EXPECT_EQ(sums.distance, sums.a_squares);
  EXPECT_TRUE(std::isfinite(sums.distance) && sums.distance > 1e77) << sums.distance;
  set_element(Dtype::F32, a.data(), 2, oracle::encode(Dtype::F32, NAN));
  tested().compare({Dtype::F32, a.data(), 4}, b.data(), &sums);
  EXPECT_TRUE(std::isnan(sums.distance) && std::isnan(sums.a_squares) && std::isnan(sums.products));
  EXPECT_EQ(sums.b_squares, 0);
}

}  // namespace
}  // namespace lacuna::test
