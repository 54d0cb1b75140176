#include <algorithm>
#include <limits>

#include "runtime/values/float16.hpp"
#include "tests/algorithms/sketch/sketch_rig.hpp"

// Sums that are estimated from a sketch.
namespace lacuna::test {
namespace {

Arrays<double> normal_inputs(std::size_t ranks, std::size_t count, std::size_t every, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Arrays<double> all(ranks, std::vector<double>(count));
  for (auto& one : all) {
    for (std::size_t i = 0; i < count; i += every) one[i] = normal(random);
  }
  return all;
}

TEST(CountSketchSums, AreExactWhereNoSketchIsSmallerThanTheUnion) {
  for (const char* options : {"columns=500,feedback=0", "rows=5,columns=100", "rows=3,columns=400,block=3"}) {
    SketchRig rig(3);
    for (unsigned run = 0; run < 4; ++run) {
      const auto inputs = drawn_inputs<float>(3, 2000, run % 2 == 0 ? 0.05 : 0.02, run);
      ASSERT_LE(union_of(inputs), 500u);
      for (const auto& output : rig.run(inputs, {"count_sketch", options})) {
        ASSERT_EQ(output, sum_of_all(inputs)) << options << " run " << run;
      }
      EXPECT_EQ(rig.measure("decoded"), 0);
    }
  }
}

TEST(CountSketchSums, BeginExactlyAndThenTakeAShareOfTheLastUnion) {
  SketchRig rig(3);
  const auto inputs = drawn_inputs<float>(3, 4000, 0.1, 2);
  const auto elements = static_cast<double>(union_of(inputs));
  EXPECT_EQ(rig.run(inputs, {"count_sketch", "ratio=0.5,feedback=0"})[2], sum_of_all(inputs));
  for (int run = 0; run < 3; ++run) {
    const auto outputs = rig.run(inputs, {"count_sketch", "ratio=0.5,feedback=0"});
    EXPECT_EQ(outputs[1], outputs[0]);
    EXPECT_EQ(rig.measure("cells"), std::floor(elements / 2));
    EXPECT_EQ(rig.measure("decoded"), elements);
    EXPECT_EQ(rig.measure("inexact"), 1);
  }
}

TEST(CountSketchSums, AreExactInTheRunInWhichTheUnionHasShrunkToTheSketch) {
  for (const char* options : {"ratio=0.25", "ratio=0.25,feedback=0"}) {
    SketchRig rig(4);
    const auto many = drawn_inputs<double>(4, 3000, 0.2, 1), few = drawn_inputs<double>(4, 3000, 0.01, 2);
    rig.run(many, {"count_sketch", options});
    const auto outputs = rig.run(few, {"count_sketch", options});
    for (const auto& output : outputs) EXPECT_EQ(output, sum_of_all(few));
    EXPECT_GT(rig.measure("cells"), rig.measure("union_elements"));
    EXPECT_EQ(rig.measure("reduced"), static_cast<double>(union_of(few)));
    for (std::size_t rank = 0; rank < 4; ++rank) {
      for (double value : rig.residual<double>(rank)) ASSERT_EQ(value, 0);
    }
  }
}

TEST(CountSketchSums, WriteEachElementOfTheUnionAndZerosElsewhere) {
  for (bool in_place : {false, true}) {
    SketchRig rig(3);
    for (std::size_t run = 0; run < 4; ++run) {  // each run has places of its own
      auto inputs = drawn_inputs<float>(3, 3000, 0.5, 3);
      for (auto& one : inputs) {
        for (std::size_t i = 0; i < 3000; ++i) {
          if (i % 4 != run) one[i] = 0;
        }
      }
      const auto outputs =
          rig.run(inputs, {.algorithm = "count_sketch", .options = "ratio=0.5,feedback=0", .in_place = in_place});
      ASSERT_EQ(rig.measure("decoded") > 0, run > 0);
      std::size_t unwritten = 0;
      for (std::size_t i = 0; i < 3000; ++i) {
        const bool is_there = inputs[0][i] != 0 || inputs[1][i] != 0 || inputs[2][i] != 0;
        if (!is_there) {
          ASSERT_EQ(outputs[2][i], 0) << i;
        }
        unwritten += outputs[2][i] == 77;
        ASSERT_EQ(outputs[0][i], outputs[2][i]);
      }
      EXPECT_EQ(unwritten, 0u);
    }
  }
}

TEST(CountSketchSums, ErrByTheRootOfTheLoadAsTheReportSays) {
  for (std::size_t block : {1u, 8u}) {
    const auto inputs = normal_inputs(2, 60'000, 3, 4);
    const auto expected = sum_of_all(inputs);
    SketchRig rig(2);
    const std::string options = fmt::format("ratio=0.25,feedback=0,block={}", block);
    rig.run(inputs, {"count_sketch", options});
    const auto output = rig.run(inputs, {"count_sketch", options})[0];
    const double error = relative_error(output, expected);
    // Of the elements of a block only some are not zero, but all of them share cells.
    EXPECT_NEAR(rig.measure("relative_error"), 2, 0.01);
    EXPECT_NEAR(error / 2, 1, 0.05);
    EXPECT_NEAR(rig.measure("error") / (error * norm_of(expected)), 1, 0.05);
  }
}

TEST(CountSketchSums, HashInAnotherWayInEachRunAndAlikeInEqualRuns) {
  const auto inputs = normal_inputs(3, 3000, 2, 5);
  const How how{"count_sketch", "ratio=0.25,feedback=0"};
  SketchRig rig(3), other(3);
  rig.run(inputs, how);
  other.run(inputs, how);
  const auto first = rig.run(inputs, how), second = rig.run(inputs, how);
  EXPECT_EQ(other.run(inputs, how), first);
  double product = 0;
  for (std::size_t i = 0; i < 3000; ++i) {
    product += (first[0][i] - sum_of_all(inputs)[i]) * (second[0][i] - sum_of_all(inputs)[i]);
  }
  EXPECT_LT(std::abs(product), 0.2 * 4 * norm_of(sum_of_all(inputs)) * norm_of(sum_of_all(inputs)))
      << "the errors of two runs are alike";
  for (auto& state : other.states) state.sampler.seed = 9;
  EXPECT_NE(other.run(inputs, how), second);
}

TEST(CountSketchSums, AverageToTheTruthOverRuns) {
  const auto inputs = normal_inputs(2, 400, 1, 6);
  const auto expected = sum_of_all(inputs);
  SketchRig rig(2);
  const How how{"count_sketch", "columns=100,feedback=0"};
  std::vector<double> sum(400);
  constexpr int runs = 400;
  for (int run = 0; run < runs; ++run) {
    const auto output = rig.run(inputs, how)[1];
    for (std::size_t i = 0; i < 400; ++i) sum[i] += output[i] / runs;
  }
  EXPECT_NEAR(relative_error(sum, expected), 2 / std::sqrt(runs), 0.02);
}

TEST(CountSketchSums, OfAveragesAreDivided) {
  const auto inputs = normal_inputs(4, 2000, 1, 7);
  SketchRig rig(4), other(4);
  auto sums = rig.run(inputs, {"count_sketch", "rows=3,columns=200,feedback=0"})[0];
  const auto means = other.run(
      inputs,
      {.algorithm = "count_sketch", .options = "rows=3,columns=200,feedback=0", .reduction = Reduction::Avg})[0];
  for (double& value : sums) value /= 4;
  EXPECT_EQ(means, sums);
}

// Without a factor the residual would grow without bounds, because the error of an estimate is larger than the value.
TEST(CountSketchSums, KeepAResidualThatStaysBoundedAndBringsAllOfTheInput) {
  for (const char* options :
       {"columns=50", "columns=33,rows=3", "columns=50,rows=3", "columns=25,rows=2,estimate=mean"}) {
    const auto inputs = normal_inputs(2, 400, 2, 8);
    const auto expected = sum_of_all(inputs);
    SketchRig rig(2);
    std::vector<double> came(400);
    constexpr int runs = 200;
    for (int run = 0; run < runs; ++run) {
      const auto output = rig.run(inputs, {"count_sketch", options})[0];
      for (std::size_t i = 0; i < 400; ++i) came[i] += output[i] / runs;
    }
    EXPECT_LT(norm_of(rig.residual<double>(0)), 40 * norm_of(inputs[0])) << options;
    EXPECT_LT(relative_error(came, expected), 0.2) << options;
    EXPECT_LT(norm_of(rig.residual<double>(1)), 40 * norm_of(inputs[1])) << options;
    EXPECT_LT(rig.measure("relative_error"), 1) << options;
    std::vector<double> kept = came;
    for (std::size_t i = 0; i < 400; ++i) {
      kept[i] += (rig.residual<double>(0)[i] + rig.residual<double>(1)[i]) / runs;
    }
    EXPECT_LT(relative_error(kept, expected), 1e-10) << options;
  }
}

TEST(CountSketchSums, WithAnInfinityOrANaNAreExactSoThatNoneStaysInAResidual) {
  for (const char* options : {"columns=60", "ratio=0.5,rows=3", "columns=60,feedback=0"}) {
    SketchRig rig(3);
    auto inputs = drawn_inputs<double>(3, 1000, 0.2, 9);
    rig.run(inputs, {"count_sketch", options});
    rig.run(inputs, {"count_sketch", options});
    const auto kept = rig.residual<double>(0);
    auto special = inputs;
    special[0][500] = std::numeric_limits<double>::quiet_NaN();
    special[1][700] = -std::numeric_limits<double>::infinity();
    const auto output = rig.run(special, {"count_sketch", options})[2];
    EXPECT_EQ(rig.measure("decoded"), 0);
    EXPECT_TRUE(std::isnan(output[500]));
    EXPECT_EQ(output[700], -std::numeric_limits<double>::infinity());
    EXPECT_EQ(std::count_if(output.begin(), output.end(), [](double value) { return !std::isfinite(value); }), 2);
    for (double value : rig.residual<double>(0)) ASSERT_EQ(value, 0);
    EXPECT_EQ(kept.empty(), std::string(options).find("feedback=0") != std::string::npos);
    rig.run(inputs, {"count_sketch", options});
    EXPECT_GT(rig.measure("decoded"), 0);
  }
}

TEST(CountSketchSums, OfShortElementsTakeNoSketchThatIsLongerThanThese) {
  std::vector<std::vector<bf16>> inputs(2, std::vector<bf16>(1000, to_bf16(1.0f))), outputs = inputs;
  for (const auto& [columns, is_sketched] : {std::pair{499, true}, {500, false}, {999, false}}) {
    Ranks ranks(2);
    std::vector<MethodState> states(2);
    std::vector<Call> calls;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      Call call{.collective = Collective::Allreduce,
                .input = inputs[rank].data(),
                .output = outputs[rank].data(),
                .count = 1000,
                .dtype = Dtype::BF16};
      call.options.algorithm = "count_sketch";
      call.options.method = *method_options(fmt::format("sketch:columns={},feedback=0", columns));
      call.options.state = &states[rank];
      calls.push_back(call);
    }
    for (const Status& end : ranks.run(calls)) ASSERT_TRUE(end) << end.to_string();
    const bool is_exact =
        std::all_of(outputs[0].begin(), outputs[0].end(), [](bf16 value) { return to_float(value) == 2; });
    EXPECT_EQ(is_exact, !is_sketched) << columns;
  }
}

TEST(CountSketchSums, UnitedMapsAreOfAllRanksAlsoOfMany) {
  for (Rank size : {16, 17, 40}) {
    const auto ranks = static_cast<std::size_t>(size);
    SketchRig rig(size);
    Arrays<float> inputs(ranks, std::vector<float>(20 * ranks));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t i = 0; i < 20 * ranks; ++i) inputs[rank][i] = i % 2 == 0 || i % ranks == rank ? 1 : 0;
    }
    rig.run(inputs, {"count_sketch", "columns=64,feedback=0"});
    EXPECT_EQ(rig.measure("decoded"), static_cast<double>(union_of(inputs)));
  }
}

}  // namespace
}  // namespace lacuna::test
