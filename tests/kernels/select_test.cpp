#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/search.hpp"
#include "runtime/values/philox.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/selection.hpp"

namespace lacuna::test {
namespace {

using kernels::Backend;
using kernels::Cut;
using kernels::Source;

class Select : public ::testing::TestWithParam<Dtype> {
 protected:
  Dtype dtype() const { return GetParam(); }
  std::byte* workspace() { return reinterpret_cast<std::byte*>(workspace_.data()); }

  Cut largest(const Elements& elements, std::uint64_t k, std::size_t offset = 0) {
    Block block = block_of(dtype(), elements, offset);
    Cut cut{7, 7};
    tested().largest({dtype(), block.data(), elements.size()}, k, workspace(), &cut);
    return cut;
  }
  void expect_largest(const Elements& elements, std::initializer_list<std::uint64_t> ks) {
    const Ranked ranked(dtype(), elements);
    for (std::uint64_t k : ks) {
      ASSERT_TRUE(ranked.are_largest(taken_places(dtype(), elements, largest(elements, k)), k))
          << k << " of " << elements.size();
    }
  }

 private:
  std::vector<std::uint64_t> workspace_ = std::vector<std::uint64_t>(Backend::workspace_bytes() / 8, 0xa5a5a5a5);
};

TEST_P(Select, OfWhatIsLeftNothingIsLarger) {
  for (const auto& [name, draw] : inputs) {
    SCOPED_TRACE(name);
    for (std::size_t count : {1u, 2u, 31u, 33u, 1000u, 2047u, 2048u, 2049u}) {
      const Elements elements = drawn(draw, dtype(), count);
      expect_largest(elements, {0, 1, 2, count / 100, count / 2, count - 1, count, count + 1, 1'000'000'000'000});
    }
  }
}

TEST_P(Select, OfWhatManyTeamsLeaveNothingIsLarger) {
  for (const auto& [name, draw] : inputs) {
    SCOPED_TRACE(name);
    for (std::size_t count : {65535u, 65536u, 65537u, 200'001u}) {
      expect_largest(drawn(draw, dtype(), count), {1, count / 100, count - 3});
    }
  }
}

TEST_P(Select, OfWhatIsLeftAfterASampleNothingIsLarger) {
  const std::size_t count = (std::size_t{4} << 20) / size_of(dtype()) + 1001;
  for (Draw draw : {draw_normal, draw_clustered, draw_equal, draw_few_values, draw_sparse}) {
    expect_largest(drawn(draw, dtype(), count), {10, count / 100, count / 2});
  }
}

TEST_P(Select, OfNothingNothingIsTaken) {
  for (std::uint64_t k : {0u, 1u}) EXPECT_TRUE(taken_places(dtype(), {}, largest({}, k)).empty());
}

TEST_P(Select, TheAddressDoesNotMatter) {
  const Elements elements = drawn(draw_normal, dtype(), 5000);
  const Ranked ranked(dtype(), elements);
  for (std::size_t offset : {1u, 2u, 3u, 5u, 8u}) {
    EXPECT_TRUE(ranked.are_largest(taken_places(dtype(), elements, largest(elements, 77, offset)), 77)) << offset;
  }
}

TEST_P(Select, ANanIsTakenFirst) {
  Elements elements = drawn(draw_uniform, dtype(), 3000);
  elements[10] = oracle::encode(dtype(), HUGE_VAL);
  elements[2500] = oracle::encode(dtype(), HUGE_VAL) + 1;
  EXPECT_EQ(taken_places(dtype(), elements, largest(elements, 1)), (std::vector<std::size_t>{2500}));
  EXPECT_EQ(taken_places(dtype(), elements, largest(elements, 2)), (std::vector<std::size_t>{10, 2500}));
}

TEST_P(Select, AWorkspaceIsNotWrittenBeyondItsEnd) {
  const std::size_t count = (std::size_t{4} << 20) / size_of(dtype());
  const Elements elements = drawn(draw_normal, dtype(), count);
  Block block = block_of(dtype(), elements, 0), room(Backend::workspace_bytes(), 0);
  Cut cut;
  tested().largest({dtype(), block.data(), count}, count / 100, room.data(), &cut);
  EXPECT_TRUE(room.guards_hold());
}

/// A search that begins with bounds between which the wanted magnitude does not lie.
template <class T>
Cut searched_from(const Source& from, std::uint64_t k, std::uint64_t low, std::uint64_t span) {
  kernels::Search search{};
  std::vector<std::uint32_t> counts(kernels::all_bins);
  const kernels::Selection<T> selection{{from.data, from.count}, k, &search, counts.data()};
  selection.begin();
  search.bound(low, span, k);
  search.guessed = true;
  for (unsigned i = 0; i < kernels::passes<T> + 1; ++i) selection.pass();
  EXPECT_TRUE(search.done);
  return search.cut;
}

TEST_P(Select, AGuessThatMissesOnEitherSideIsMadeGood) {
  const Elements elements = drawn(draw_uniform, dtype(), 30'000);
  Block block = block_of(dtype(), elements, 0);
  const Source from{dtype(), block.data(), elements.size()};
  const Ranked ranked(dtype(), elements);
  for (double low : {0.1, 0.98, 0.999}) {
    const std::uint64_t least = oracle::encode(dtype(), low), span = oracle::encode(dtype(), low * 1.02) - least + 1;
    kernels::with_floating_element(dtype(), [&]<class T>(kernels::Element<T>) {
      const Cut cut = searched_from<T>(from, 300, least, span);
      EXPECT_TRUE(ranked.are_largest(taken_places(dtype(), elements, cut), 300)) << low;
    });
  }
}

class Estimate : public Select {
 protected:
  Cut estimate(const Elements& elements, std::uint64_t k, std::size_t samples, const Sampler& sampler) {
    Block block = block_of(dtype(), elements, 0), room(samples * size_of(dtype()), 1);
    Cut cut{7, 7};
    tested().estimate({dtype(), block.data(), elements.size()}, k, samples, sampler, room.data(), workspace(), &cut);
    EXPECT_TRUE(room.guards_hold());
    return cut;
  }
};

TEST_P(Estimate, TakesTheShareOfTheSamplesThatTheSamplerDraws) {
  constexpr std::size_t count = 20'000, k = 500, samples = 1000, share = 25;
  const Sampler sampler{.seed = 3, .key = 4, .draw = 5};
  for (const auto& [name, draw] : inputs) {
    SCOPED_TRACE(name);
    const Elements elements = drawn(draw, dtype(), count);
    Elements sample(samples);
    for (std::uint32_t i = 0; i < samples; ++i) sample[i] = elements[bounded_draw(sampler, i, count)];
    Cut cut = estimate(elements, k, samples, sampler);
    EXPECT_EQ(cut.ties % (count / samples), 0u) << "a tie of the sample stands for 20";
    cut.ties /= count / samples;
    EXPECT_TRUE(Ranked(dtype(), sample).are_largest(taken_places(dtype(), sample, cut), share));
  }
}

TEST_P(Estimate, OfManySamplesTakesAboutAsManyAsAreWanted) {
  constexpr std::size_t count = 100'000, k = 10'000;
  for (Draw draw : {draw_uniform, draw_normal, draw_clustered, draw_equal, draw_few_values}) {
    const Elements elements = drawn(draw, dtype(), count);
    const std::size_t taken = taken_places(dtype(), elements, estimate(elements, k, 20'000, {1, 2, 3})).size();
    EXPECT_NEAR(static_cast<double>(taken), k, 0.12 * k);  // the difference may be six standard deviations
  }
}

TEST_P(Estimate, OfNoneTakesNothingAndOfAllEverything) {
  const Elements elements = drawn(draw_normal, dtype(), 5000);
  EXPECT_TRUE(taken_places(dtype(), elements, estimate(elements, 0, 10, {})).empty());
  const Ranked ranked(dtype(), elements);
  for (std::uint64_t k : {5000u, 6000u}) {
    EXPECT_TRUE(ranked.are_largest(taken_places(dtype(), elements, estimate(elements, k, 10, {})), k));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Select, ::testing::ValuesIn(float_dtypes),
                         [](const auto& i) { return name_of_dtype(i); });
INSTANTIATE_TEST_SUITE_P(All, Estimate, ::testing::ValuesIn(float_dtypes),
                         [](const auto& i) { return name_of_dtype(i); });

}  // namespace
}  // namespace lacuna::test
