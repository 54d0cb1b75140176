#include <map>

#include "algorithms/phases/sparse.hpp"
#include "tests/algorithms/topk/sparse_rig.hpp"
#include "tests/support/calls.hpp"

// gtopk compared with its definition: sums of lists, of which the k largest entries are passed on.
namespace lacuna::test {
namespace {

/// What all ranks get, and what stays on each rank.
struct Expected {
  std::vector<float> result;
  Vectors residuals;
};

std::vector<float> truncated(const std::vector<float>& sum, std::size_t k, std::vector<float>& rest) {
  const std::vector<float> kept = only(sum, largest_places(sum, k));
  for (std::size_t i = 0; i < sum.size(); ++i) rest[i] += sum[i] - kept[i];
  return kept;
}

/// Rank r takes lists from r + 1, r + 2, r + 4 ... below its own lowest bit, in this order. It hands its list to r
/// without this bit.
Expected global_topk(const Vectors& given, std::size_t k) {
  const std::size_t ranks = given.size(), count = given.front().size();
  Expected expected{.result = {}, .residuals = Vectors(ranks, std::vector<float>(count))};
  Vectors sums(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) sums[rank] = truncated(given[rank], k, expected.residuals[rank]);
  for (std::size_t distance = 1; distance < ranks; distance *= 2) {
    for (std::size_t rank = 0; rank + distance < ranks; rank += 2 * distance) {
      sums[rank] = truncated(sum_of({sums[rank], sums[rank + distance]}), k, expected.residuals[rank]);
    }
  }
  expected.result = sums[0];
  return expected;
}

TEST(Gtopk, GivesTheSumsThatWinInTheTreeAndKeepsTheOthers) {
  for (Rank size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16}) {
    for (std::size_t k : {1u, 7u, 40u, 150u}) {
      SparseRig rig(size);
      Vectors kept(rig.states.size(), std::vector<float>(150));
      for (unsigned run = 0; run < 4; ++run) {
        const Pattern pattern = run % 2 ? Pattern::Full : Pattern::Uniform;
        const Vectors inputs = sparse_inputs(pattern, kept.size(), 150, run + static_cast<unsigned>(k));
        for (std::size_t rank = 0; rank < kept.size(); ++rank) kept[rank] = sum_of({kept[rank], inputs[rank]});
        Expected expected = global_topk(kept, k);
        const bool averages = run >= 2;
        for (float& sum : expected.result) sum /= averages ? static_cast<float>(size) : 1;
        ASSERT_EQ(rig.run(inputs, "gtopk", fmt::format("k={}", k), averages ? Reduction::Avg : Reduction::Sum), "");
        for (std::size_t rank = 0; rank < kept.size(); ++rank) {
          ASSERT_EQ(rig.outputs[rank], expected.result) << "P=" << size << " k=" << k << " run " << run;
          ASSERT_EQ(rig.residual(rank), expected.residuals[rank]) << "P=" << size << " k=" << k << " run " << run;
        }
        kept = expected.residuals;
      }
    }
  }
}

TEST(Gtopk, ConservesMassWhateverThePatternAlsoWhereSumsCancel) {
  for (Rank size : {2, 5, 8}) {
    for (Pattern pattern : all_patterns) {
      SparseRig rig(size);
      Vectors inputs = sparse_inputs(pattern, rig.states.size(), 300, 6);
      for (std::size_t i = 0; i < 300; i += 3) inputs[1][i] = -inputs[0][i];
      ASSERT_EQ(rig.run(inputs, "gtopk", "k=11"), "");
      Vectors came_out = {rig.outputs[0]};
      for (std::size_t rank = 0; rank < inputs.size(); ++rank) came_out.push_back(rig.residual(rank));
      EXPECT_EQ(sum_of(came_out), sum_of(inputs)) << "P=" << size << " pattern " << static_cast<int>(pattern);
    }
  }
}

TEST(Gtopk, AveragesDivideByAllRanksOnceAndResidualsHoldSums) {
  SparseRig rig(4);
  const Vectors inputs(4, {8, 4, 2, 0, 0, 0});
  ASSERT_EQ(rig.run(inputs, "gtopk", "k=2", Reduction::Avg), "");
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(rig.outputs[rank], (std::vector<float>{8, 4, 0, 0, 0, 0}));
    EXPECT_EQ(rig.residual(rank), (std::vector<float>{0, 0, 2, 0, 0, 0}));
  }
}

/// An entry has 8 bytes, and a header 16.
TEST(Gtopk, TheRootTakesAndSendsLogPTimesKEntriesTheLeavesOnce) {
  constexpr std::size_t k = 20, message = 16 + 8 * k;
  SparseRig rig(8);
  ASSERT_EQ(rig.run(sparse_inputs(Pattern::Full, 8, 5000, 1), "gtopk", "k=20,format=coordinates"), "");
  const std::map<std::size_t, std::size_t> children = {{0, 3}, {1, 0}, {2, 1}, {3, 0}, {4, 2}, {5, 0}, {6, 1}, {7, 0}};
  const auto sent = rig.sent();
  for (const auto& [rank, number] : children) {
    EXPECT_EQ(sent[rank], (number + (rank == 0 ? 0 : 1)) * message) << rank;
    EXPECT_EQ(rig.ranks.counters(static_cast<Rank>(rank)).payload_received, sent[rank]) << rank;
  }
}

TEST(Gtopk, IsRefusedWhereItCouldNotKeepWhatItDrops) {
  SparseRig rig(2);
  const Vectors inputs = sparse_inputs(Pattern::Full, 2, 50, 1);
  EXPECT_EQ(rig.run(inputs, "gtopk", "k=5,feedback=0"),
            "invalid argument: topk by gtopk: what is dropped is fed back; it needs feedback=1");
  EXPECT_EQ(rig.run(inputs, "gtopk", "selection=threshold,threshold=3"),
            "invalid argument: topk by gtopk: selection=threshold may select more than k; selection must be exact");
}

TEST(Gtopk, ReportsWhatARankHasBroughtAndWhatIsKept) {
  constexpr std::size_t k = 5;
  const Vectors inputs = sparse_inputs(Pattern::Disjoint, 4, 400, 2);
  Ranks ranks(4);
  std::vector<MethodState> states(4);
  std::vector<std::vector<float>> outputs(4, std::vector<float>(400));
  std::vector<runtime::Run*> runs;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    Call call = allreduce_call(inputs[rank], outputs[rank], "gtopk");
    call.options.method = *method_options("topk:k=5");
    call.options.state = &states[rank];
    runs.push_back(&must_post(ranks, static_cast<Rank>(rank), call));
  }
  ASSERT_TRUE(
      ranks.sweep_until([&] { return std::all_of(runs.begin(), runs.end(), [](auto run) { return run->finished; }); }));
  std::size_t kept = 0, left = 0;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const Report report = ranks.communicator(static_cast<Rank>(rank)).report(*runs[rank]);
    EXPECT_EQ(test::whole(report.measures, sparse::measure::selected), k);
    EXPECT_EQ(test::whole(report.measures, sparse::measure::contributed), k);
    kept += test::whole(report.measures, sparse::measure::left);
    const auto* residual = reinterpret_cast<const float*>(states[rank].find(residual_array)->bytes.data());
    left += static_cast<std::size_t>(std::count_if(residual, residual + 400, [](float value) { return value != 0; }));
  }
  EXPECT_EQ(kept - 4 * (400 - k), 3 * k) << "of disjoint selections three lose";
  EXPECT_GT(left, 3 * k);
}

TEST(Gtopk, WithAllElementsItIsTheDenseSumAndNeedsNoFeedback) {
  for (Rank size : {1, 3, 8}) {
    SparseRig rig(size);
    const Vectors inputs = sparse_inputs(Pattern::Full, rig.states.size(), 97, 4);
    ASSERT_EQ(rig.run(inputs, "gtopk", "density=1,feedback=0"), "");
    for (const auto& output : rig.outputs) EXPECT_EQ(output, sum_of(inputs));
  }
}

TEST(Gtopk, TakesAnyNumberOfRanks) {
  Call call{.collective = Collective::Allreduce, .count = 1000};
  MethodState state;
  call.options.state = &state;
  call.options.method = *method_options("topk:k=5");
  call.options.algorithm = "gtopk";
  EXPECT_TRUE(select_algorithm(call, 3000));
  call.options.algorithm = "sparse_split";
  EXPECT_FALSE(select_algorithm(call, 3000));
}

}  // namespace
}  // namespace lacuna::test
