#include "algorithms/ok_topk/ok_topk.hpp"
#include "algorithms/phases/sparse.hpp"
#include "algorithms/registry/gaps.hpp"
#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"
#include "tests/support/calls.hpp"

/// What ok_topk reports about its runs.
namespace lacuna::test {
namespace {

/// Returns the least magnitude that is not 0.
double least_magnitude(const std::vector<float>& values) {
  double least = std::numeric_limits<double>::infinity();
  for (float value : values) {
    if (value != 0) least = std::min<double>(least, std::abs(value));
  }
  return least;
}

TEST(OkOptions, ReportsTellThresholdsCountsBlocksAndTheBound) {
  constexpr std::size_t k = 20, count = 2000;
  OkRig rig(5, k, 3, "trigger=1");
  for (int run = 0; run < 4; ++run) {
    const Vectors inputs = gradients(5, count, static_cast<unsigned>(run));
    const bool exactly = rig.reevaluates();
    const OkExpected expected = rig.expected(inputs);
    std::vector<runtime::Run*> runs;
    for (std::size_t rank = 0; rank < 5; ++rank) {
      rig.outputs[rank].assign(count, 0);
      Call call = allreduce_call(inputs[rank], rig.outputs[rank], "ok_topk");
      call.options.method = *method_options("ok_topk:k=20,tau_prime=3,trigger=1");
      call.options.state = &rig.states[rank];
      runs.push_back(&must_post(rig.ranks, static_cast<Rank>(rank), call));
    }
    ASSERT_TRUE(rig.ranks.sweep_until(
        [&] { return std::all_of(runs.begin(), runs.end(), [](auto one) { return one->finished; }); }));
    const std::vector<std::size_t> begins = rig.ranges(count);
    const std::set<std::size_t> result = places_of(exactly ? expected.sum : expected.result);
    std::size_t largest = 0;
    for (std::size_t i = 0; i < 5; ++i) largest = std::max(largest, within(result, begins, i));
    for (std::size_t rank = 0; rank < 5; ++rank) {
      const Report report = rig.ranks.communicator(static_cast<Rank>(rank)).report(*runs[rank]);
      const auto number = [&](std::string_view name) { return report.measures.value(name); };
      std::size_t contributed = 0;
      for (std::size_t place : expected.selected[rank]) contributed += expected.result[place] != 0 ? 1 : 0;
      EXPECT_EQ(test::whole(report.measures, sparse::measure::selected), expected.selected[rank].size());
      EXPECT_EQ(test::whole(report.measures, sparse::measure::contributed), contributed);
      EXPECT_EQ(test::whole(report.measures, sparse::measure::left), count - contributed);
      EXPECT_EQ(number("entries_asked"), k);
      EXPECT_EQ(number("entries_result"), static_cast<double>(places_of(expected.result).size()));
      EXPECT_EQ(number("bound_words"), 6.0 * k * 4 / 5);
      EXPECT_EQ(number("largest_block"), static_cast<double>(largest));
      EXPECT_EQ(number("balanced"), !exactly && 5 * largest > result.size());
      EXPECT_LE(number("global_threshold"), least_magnitude(expected.result));
      EXPECT_GT(number("global_threshold"), 0);
      EXPECT_GT(number("threshold"), 0);
      EXPECT_EQ(report.dense_sent, report.dense_received);
    }
  }
}

/// A part that is followed by another one has no gaps.
TEST(OkOptions, NoRunLacksWhatOthersGet) {
  SparseRig rig(6);
  const Vectors inputs = gradients(6, 500, 1);
  for (int run = 0; run < 3; ++run) {
    std::vector<runtime::Run*> runs;
    for (std::size_t rank = 0; rank < 6; ++rank) {
      rig.outputs[rank].assign(500, 0);
      Call call = allreduce_call(inputs[rank], rig.outputs[rank], "ok_topk");
      call.options.method = *method_options("ok_topk:k=20");
      call.options.state = &rig.states[rank];
      runs.push_back(&must_post(rig.ranks, static_cast<Rank>(rank), call));
    }
    ASSERT_TRUE(rig.ranks.sweep_until(
        [&] { return std::all_of(runs.begin(), runs.end(), [](auto one) { return one->finished; }); }));
    EXPECT_TRUE(Gaps(runtime::as_collective(*runs[2]), 6).of(2).empty()) << run;
    EXPECT_EQ(rig.ranks.communicator(2).report(*runs[2]).lacking, 0u);
  }
}

}  // namespace
}  // namespace lacuna::test
