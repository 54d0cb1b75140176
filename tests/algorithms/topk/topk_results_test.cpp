#include "algorithms/phases/sparse.hpp"
#include "tests/algorithms/topk/sparse_rig.hpp"

// What topk returns: the exact sum of what ranks have selected, whatever the algorithm, the format and the places are.
namespace lacuna::test {
namespace {

constexpr Rank sizes[] = {1, 2, 3, 5, 6, 7, 8, 12, 16};
constexpr std::size_t counts[] = {0, 1, 2, 7, 64, 333};

std::string text(const char* algorithm, Rank size, std::size_t count, Pattern pattern) {
  return fmt::format("{} P={} n={} pattern {}", algorithm, size, count, static_cast<int>(pattern));
}

class Sparse : public testing::TestWithParam<const char*> {};

TEST_P(Sparse, SumsAreExactForAllPatternsSizesAndCounts) {
  for (Rank size : sizes) {
    SparseRig rig(size);
    for (std::size_t count : counts) {
      for (Pattern pattern : all_patterns) {
        const Vectors inputs = sparse_inputs(pattern, rig.states.size(), count, 3);
        ASSERT_EQ(rig.run(inputs, GetParam(), "density=1,feedback=0"), "");
        for (const auto& output : rig.outputs) {
          ASSERT_EQ(output, sum_of(inputs)) << text(GetParam(), size, count, pattern);
        }
      }
    }
  }
}

TEST_P(Sparse, EveryFormatGivesTheSameSum) {
  SparseRig rig(5);
  for (const char* format : {"coordinates", "local16", "bitmap", "dense", "shortest"}) {
    for (Pattern pattern : all_patterns) {
      const Vectors inputs = sparse_inputs(pattern, 5, 200, 8);
      ASSERT_EQ(rig.run(inputs, GetParam(), fmt::format("density=1,feedback=0,format={}", format)), "") << format;
      for (const auto& output : rig.outputs) ASSERT_EQ(output, sum_of(inputs)) << format;
    }
  }
}

TEST_P(Sparse, TheKLargestOfEachRankAreAddedAndTheRestIsKept) {
  for (Rank size : {1, 2, 3, 5, 8}) {
    for (std::size_t k : {1u, 5u, 40u}) {
      SparseRig rig(size);
      Vectors kept(rig.states.size(), std::vector<float>(150));
      for (unsigned run = 0; run < 4; ++run) {
        const Vectors inputs = sparse_inputs(run % 2 ? Pattern::Full : Pattern::Uniform, kept.size(), 150, run);
        Vectors sent(kept.size());
        for (std::size_t rank = 0; rank < kept.size(); ++rank) {
          for (std::size_t i = 0; i < 150; ++i) kept[rank][i] += inputs[rank][i];
          sent[rank] = only(kept[rank], largest_places(kept[rank], k));
          for (std::size_t i = 0; i < 150; ++i) kept[rank][i] -= sent[rank][i];
        }
        ASSERT_EQ(rig.run(inputs, GetParam(), fmt::format("k={}", k)), "");
        for (std::size_t rank = 0; rank < kept.size(); ++rank) {
          ASSERT_EQ(rig.outputs[rank], sum_of(sent)) << GetParam() << " P=" << size << " run " << run;
          ASSERT_EQ(rig.residual(rank), kept[rank]) << GetParam() << " P=" << size << " run " << run;
        }
      }
    }
  }
}

TEST_P(Sparse, WithAllElementsItIsTheDenseSumAndNothingIsKept) {
  SparseRig rig(6);
  const Vectors inputs = sparse_inputs(Pattern::Full, 6, 97, 4);
  ASSERT_EQ(rig.run(inputs, GetParam(), "k=97"), "");
  for (std::size_t rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(rig.outputs[rank], sum_of(inputs));
    EXPECT_EQ(rig.residual(rank), std::vector<float>(97));
  }
}

TEST_P(Sparse, MassIsConservedElementByElement) {
  for (const char* options : {"k=9", "k=9,selection=sampled,samples=64", "selection=threshold,threshold=120", "k=50"}) {
    SparseRig rig(7);
    Vectors kept(7, std::vector<float>(6200));  // a sample of 64 is drawn from 6144 or more
    for (unsigned run = 0; run < 5; ++run) {
      const Vectors inputs = sparse_inputs(Pattern::Full, 7, 6200, run + 20);
      Vectors went_in = kept;
      went_in.insert(went_in.end(), inputs.begin(), inputs.end());
      ASSERT_EQ(rig.run(inputs, GetParam(), options), "");
      Vectors came_out = {rig.outputs[run]};
      for (std::size_t rank = 0; rank < 7; ++rank) came_out.push_back(kept[rank] = rig.residual(rank));
      ASSERT_EQ(sum_of(came_out), sum_of(went_in)) << GetParam() << " " << options << " run " << run;
    }
  }
}

TEST_P(Sparse, AllEqualElementsAreTakenFromTheFrontAndNoneIsLost) {
  SparseRig rig(3);
  const Vectors inputs(3, std::vector<float>(50, -2));
  ASSERT_EQ(rig.run(inputs, GetParam(), "k=20"), "");
  std::vector<float> first(50), rest(50);
  for (std::size_t i = 0; i < 50; ++i) (i < 20 ? first : rest)[i] = -2;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(rig.residual(rank), rest);
    for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(rig.outputs[rank][i], 3 * first[i]);
  }
}

TEST_P(Sparse, NothingSelectedGivesZerosAndKeepsTheResidual) {
  SparseRig rig(4);
  const Vectors inputs = sparse_inputs(Pattern::Full, 4, 60, 1);
  ASSERT_EQ(rig.run(inputs, GetParam(), "selection=threshold,threshold=1000"), "");
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(rig.outputs[rank], std::vector<float>(60));
    EXPECT_EQ(rig.residual(rank), inputs[rank]);
  }
}

TEST_P(Sparse, SumsThatCancelAreZeroAndCountAsContributed) {
  SparseRig rig(2);
  const Vectors inputs = {{5, 0, 1, 0}, {-5, 0, 0, 2}};
  ASSERT_EQ(rig.run(inputs, GetParam(), "k=1"), "");
  for (std::size_t rank = 0; rank < 2; ++rank) EXPECT_EQ(rig.outputs[rank], std::vector<float>(4));
  EXPECT_EQ(rig.residual(0), (std::vector<float>{0, 0, 1, 0}));
  EXPECT_EQ(rig.residual(1), (std::vector<float>{0, 0, 0, 2}));
}

TEST_P(Sparse, AveragesDivideByAllRanks) {
  for (Rank size : {1, 3, 4}) {
    SparseRig rig(size);
    Vectors inputs = sparse_inputs(Pattern::Uniform, rig.states.size(), 80, 2);
    for (auto& input : inputs) {
      for (float& value : input) value *= 12;
    }
    std::vector<float> mean = sum_of(inputs);
    for (float& value : mean) value /= static_cast<float>(size);
    ASSERT_EQ(rig.run(inputs, GetParam(), "density=1,feedback=0", Reduction::Avg), "");
    for (const auto& output : rig.outputs) ASSERT_EQ(output, mean) << size;
  }
}

TEST_P(Sparse, ANanAndInfinitiesOfOneRankReachAll) {
  SparseRig rig(3);
  Vectors inputs = sparse_inputs(Pattern::Full, 3, 40, 9);
  inputs[0][7] = std::numeric_limits<float>::quiet_NaN();
  inputs[1][8] = std::numeric_limits<float>::infinity();
  inputs[2][9] = -std::numeric_limits<float>::infinity();
  ASSERT_EQ(rig.run(inputs, GetParam(), "k=1"), "");
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(std::isnan(rig.outputs[rank][7]));
    EXPECT_EQ(rig.outputs[rank][8], std::numeric_limits<float>::infinity());
    EXPECT_EQ(rig.outputs[rank][9], -std::numeric_limits<float>::infinity());
    EXPECT_EQ(rig.residual(rank)[7 + rank], 0) << "what was sent is not kept";
  }
}

TEST_P(Sparse, OneRankSelectsItsLargestAndSendsNothing) {
  SparseRig rig(1);
  const Vectors inputs = sparse_inputs(Pattern::Full, 1, 300, 5);
  rig.sent();
  ASSERT_EQ(rig.run(inputs, GetParam(), "k=11"), "");
  EXPECT_EQ(rig.outputs[0], only(inputs[0], largest_places(inputs[0], 11)));
  EXPECT_EQ(rig.sent()[0], 0u);
}

TEST_P(Sparse, InPlaceIsTheSame) {
  SparseRig rig(4), other(4);
  Vectors inputs = sparse_inputs(Pattern::Full, 4, 100, 6);
  ASSERT_EQ(rig.run(inputs, GetParam(), "k=13"), "");
  const auto method = method_options("topk:k=13");
  std::vector<Call> calls;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    Call call{
        .collective = Collective::Allreduce, .input = inputs[rank].data(), .output = inputs[rank].data(), .count = 100};
    call.options.algorithm = GetParam();
    call.options.method = *method;
    call.options.state = &other.states[rank];
    calls.push_back(call);
  }
  for (const Status& status : other.ranks.run(calls)) ASSERT_TRUE(status) << status.to_string();
  EXPECT_EQ(inputs, rig.outputs);
}

INSTANTIATE_TEST_SUITE_P(, Sparse, testing::ValuesIn(sparse_allreduces),
                         [](const auto& one) { return std::string(one.param); });

TEST(SparseSplit, BalancedRangesGiveTheExactSum) {
  constexpr std::size_t count = 20000;
  for (Rank size : {2, 5, 6, 7, 8, 12, 16}) {
    ASSERT_GT(sparse::bins_for(count, size), 0);
    SparseRig rig(size);
    for (Pattern pattern : all_patterns) {
      const Vectors inputs = sparse_inputs(pattern, rig.states.size(), count, 3);
      ASSERT_EQ(rig.run(inputs, "sparse_split", "density=1,feedback=0,ranges=balanced"), "");
      const std::vector<float> sum = sum_of(inputs);
      for (const auto& output : rig.outputs) ASSERT_TRUE(output == sum) << text("", size, count, pattern);
    }
  }
}

TEST(SparseRing, CappedItConservesMassAndHoldsNoMoreThanItsShare) {
  for (Rank size : {2, 3, 5, 8}) {
    SparseRig rig(size);
    const auto ranks = static_cast<std::size_t>(size);
    Vectors kept(ranks, std::vector<float>(400));
    for (unsigned run = 0; run < 6; ++run) {
      const Vectors inputs = sparse_inputs(run % 2 ? Pattern::Full : Pattern::Clustered, ranks, 400, run + 40);
      Vectors went_in = kept;
      went_in.insert(went_in.end(), inputs.begin(), inputs.end());
      ASSERT_EQ(rig.run(inputs, "sparse_ring", "k=24,capped=1"), "");
      Vectors came_out = {rig.outputs[0]};
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        ASSERT_EQ(rig.outputs[rank], rig.outputs[0]);
        came_out.push_back(kept[rank] = rig.residual(rank));
      }
      ASSERT_EQ(sum_of(came_out), sum_of(went_in)) << size << " run " << run;
      for (std::size_t range = 0; range < ranks; ++range) {
        const auto begin = rig.outputs[0].begin() + static_cast<std::ptrdiff_t>(range * 400 / ranks);
        const auto end = rig.outputs[0].begin() + static_cast<std::ptrdiff_t>((range + 1) * 400 / ranks);
        const auto entries = static_cast<std::size_t>(end - begin - std::count(begin, end, 0.0f));
        EXPECT_LE(entries, (24 + ranks - 1) / ranks);
      }
    }
  }
}

}  // namespace
}  // namespace lacuna::test
