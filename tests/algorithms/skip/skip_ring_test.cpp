#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/algorithms/skip/skip_rig.hpp"

// The acceptance properties of SkipReduce: who contributes to which element. The conformance suite checks counts,
// skip_sizes and exact sums of any input.
namespace lacuna::test {
namespace {

/// Returns the bits of the ranks that contribute to a piece of this owner.
std::int64_t contributors(Rank size, Rank owner, int skip) {
  std::int64_t bits = (std::int64_t{1} << size) - 1;
  for (int k = 1; k <= skip; ++k) bits -= std::int64_t{1} << ((owner + k) % size);
  return bits;
}

TEST(SkipRing, WithoutSkippedStepsEqualsTheDenseRingBitForBitUnderAnySeed) {
  for (Rank size : skip_sizes) {
    for (Dtype dtype : real_dtypes) {
      SkipRig<unsigned char> rig(size);
      std::mt19937 random(static_cast<unsigned>(size));
      for (auto& input : rig.inputs) {
        input.resize(64 * size_of(dtype));
        for (std::size_t i = 0; i < input.size(); ++i) {
          const auto byte = static_cast<unsigned char>(random());
          input[i] =
              (i + 1) % size_of(dtype) == 0 ? byte & 0xbf : byte;  // the exponent's high bit: no NaN, no infinity
        }
      }
      rig.run(rig.calls(dtype, "ring", 0));
      const auto dense = rig.outputs;
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        rig.run(rig.calls(dtype, "skip_ring", 0, SkipMode::Random, {.seed = seed, .key = 1, .draw = seed}));
        ASSERT_EQ(rig.outputs, dense) << size << " ranks, " << to_string(dtype) << ", seed " << seed;
      }
    }
  }
}

/// Sums one element in the order of its way around the ring, which begins behind the ranks that are left out.
float ring_sum(const SkipRig<float>& rig, std::size_t element, Rank owner, int skip) {
  const Rank size = rig.ranks.size();
  const auto input = [&](Rank rank) { return rig.inputs[static_cast<std::size_t>(rank % size)][element]; };
  if (skip == size - 1) return input(owner);
  float sum = input(owner + skip + 1);
  for (Rank rank = owner + skip + 2; rank <= owner + size; ++rank) sum = input(rank) + sum;
  return sum;
}

TEST(SkipRing, FloatsEqualTheSumInRingOrderOnAllRanks) {
  const Sampler sampler{.seed = 4, .key = 2, .draw = 9};
  for (Rank size : skip_sizes) {
    SkipRig<float> rig(size);
    std::mt19937 random(5);
    for (auto& input : rig.inputs) {
      for (int i = 0; i < 331; ++i) input.push_back(std::normal_distribution<float>()(random));
    }
    for (int skip = 0; skip < size; ++skip) {
      for (SkipMode mode : {SkipMode::Static, SkipMode::Random}) {
        rig.run(rig.calls(Dtype::F32, "skip_ring", skip, mode, sampler));
        const bool turns = mode == SkipMode::Random && skip > 0;
        each_element(331, sizeof(float), size, turns ? &sampler : nullptr, [&](std::size_t i, Rank owner) {
          const float expected = ring_sum(rig, i, owner, skip);
          ASSERT_EQ(std::memcmp(&rig.outputs[0][i], &expected, sizeof expected), 0)
              << size << " ranks, skip " << skip << ", element " << i;
        });
        for (const auto& output : rig.outputs) {
          ASSERT_EQ(std::memcmp(output.data(), rig.outputs[0].data(), output.size() * sizeof(float)), 0);
        }
      }
    }
  }
}

TEST(SkipRing, ExactlyTheRanksBehindTheOwnerAreMissing) {
  for (Rank size : skip_sizes) {
    DecodingRig rig(size, 203);
    for (int skip = 0; skip < size; ++skip) {
      rig.run(rig.calls(Dtype::I64, "skip_ring", skip));
      each_element(203, sizeof(std::int64_t), size, nullptr, [&](std::size_t i, Rank owner) {
        for (const auto& output : rig.outputs) ASSERT_EQ(output[i], contributors(size, owner, skip));
      });
    }
  }
}

TEST(SkipRing, WithoutAnyReduceScatterStepEachPieceIsItsOwners) {
  for (bool in_place : {false, true}) {
    DecodingRig rig(5, 64);
    auto calls = rig.calls(Dtype::I64, "skip_ring", 4);
    if (in_place) {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        rig.outputs[i] = rig.inputs[i];
        calls[i].input = calls[i].output = rig.outputs[i].data();
      }
    }
    rig.run(calls);
    each_element(64, 8, 5, nullptr, [&](std::size_t i, Rank owner) {
      for (const auto& output : rig.outputs) ASSERT_EQ(output[i], std::int64_t{1} << owner);
    });
  }
}

TEST(SkipRing, AverageOfWhatIsLeftStillDividesByAllRanks) {
  SkipRig<double> rig(4);
  for (auto& input : rig.inputs) input.assign(40, 8.0);
  for (int skip = 0; skip < 4; ++skip) {
    auto calls = rig.calls(Dtype::F64, "skip_ring", skip);
    for (Call& call : calls) call.reduction = Reduction::Avg;
    rig.run(calls);
    for (const auto& output : rig.outputs) EXPECT_EQ(output, std::vector<double>(40, 8.0 * (4 - skip) / 4));
  }
}

}  // namespace
}  // namespace lacuna::test
