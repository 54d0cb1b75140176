#include "tests/algorithms/topk/sparse_rig.hpp"

// What a capped ring drops: in each range of the data, what is not among the k / P largest of a sum on its way.
namespace lacuna::test {
namespace {

struct Expected {
  std::vector<float> result;
  Vectors residuals;
};

/// By definition, the sum of range i begins at the rank behind rank i and grows around the ring. Each rank adds what it
/// has selected there, keeps the k / P largest and drops the rest into its residual.
Expected capped_sum(const Vectors& inputs, std::size_t k) {
  const std::size_t ranks = inputs.size(), count = inputs[0].size(), most = (k + ranks - 1) / ranks;
  Expected all{std::vector<float>(count), inputs};
  for (std::size_t range = 0; range < ranks; ++range) {
    std::vector<float> sum(count);
    for (std::size_t step = 1; step <= ranks; ++step) {
      const std::size_t rank = (range + step) % ranks;
      for (std::size_t place : largest_places(inputs[rank], k)) {
        if (place < range * count / ranks || place >= (range + 1) * count / ranks) continue;
        sum[place] += inputs[rank][place];
        all.residuals[rank][place] = 0;
      }
      const std::vector<float> grown = sum;
      sum = only(grown, largest_places(grown, most));
      for (std::size_t place = 0; place < count; ++place) all.residuals[rank][place] += grown[place] - sum[place];
    }
    for (std::size_t place = 0; place < count; ++place) all.result[place] += sum[place];
  }
  return all;
}

TEST(SparseCapped, ARangeKeepsTheLargestOfItsSumWhereverTheyLieInIt) {
  for (std::size_t ranks : {1u, 2u, 3u, 5u, 8u}) {
    for (Pattern pattern : {Pattern::Clustered, Pattern::Full, Pattern::Bimodal, Pattern::Uniform}) {
      const Vectors inputs = sparse_inputs(pattern, ranks, 40 * ranks, 6);
      const std::size_t k = 7 * ranks;
      Expected expected = capped_sum(inputs, k);
      for (const Reduction reduction : {Reduction::Sum, Reduction::Avg}) {
        SparseRig rig(static_cast<Rank>(ranks));
        ASSERT_EQ(rig.run(inputs, "sparse_ring", fmt::format("k={},capped=1", k), reduction), "");
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          ASSERT_EQ(rig.outputs[rank], expected.result) << "P=" << ranks << " pattern " << static_cast<int>(pattern);
          ASSERT_EQ(rig.residual(rank), expected.residuals[rank]) << "P=" << ranks << " rank " << rank;
        }
        for (float& sum : expected.result) sum /= static_cast<float>(ranks);  // the means come next
      }
    }
  }
}

/// A range that may hold 64 entries has 64 entries behind each other.
TEST(SparseCapped, AClusterWithinTheCapIsNotDropped) {
  for (int chunks : {1, 8, 64}) {
    SparseRig rig(4);
    std::vector<float> values(4096);
    for (std::size_t i = 0; i < 64; ++i) values[1100 + i] = static_cast<float>(i + 1);
    const Vectors inputs(4, values);
    ASSERT_EQ(rig.run(inputs, "sparse_ring", fmt::format("k=256,capped=1,chunks={}", chunks)), "");
    EXPECT_EQ(rig.outputs[0], sum_of(inputs)) << chunks << " chunks";
    for (std::size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(rig.residual(rank), std::vector<float>(4096));
  }
}

TEST(SparseCapped, OneRankDropsNothing) {
  for (int chunks : {1, 8, 64}) {
    SparseRig rig(1);
    const Vectors inputs = sparse_inputs(Pattern::Clustered, 1, 1000, 2);
    const auto taken = largest_places(inputs[0], 64);
    ASSERT_EQ(rig.run(inputs, "sparse_ring", fmt::format("k=64,capped=1,chunks={}", chunks)), "");
    EXPECT_EQ(rig.outputs[0], only(inputs[0], taken)) << chunks << " chunks";
  }
}

/// Each rank sends two messages for each range, however many chunks are asked for: one for its sum, one for its result.
TEST(SparseCapped, ARangeIsOneMessageAsItIsCappedAsAWhole) {
  for (Rank size : {2, 5}) {
    SparseRig rig(size);
    const Vectors inputs = sparse_inputs(Pattern::Full, rig.states.size(), 500, 4);
    ASSERT_EQ(rig.run(inputs, "sparse_ring", "k=100,capped=1,chunks=8"), "");
    for (Rank rank = 0; rank < size; ++rank) {
      EXPECT_EQ(rig.ranks.counters(rank).messages_sent, static_cast<std::uint64_t>(2 * (size - 1)));
    }
  }
}

}  // namespace
}  // namespace lacuna::test
