#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"
#include "tests/support/calls.hpp"

// What ok_topk returns and what it holds back, compared with its paper's algorithm.
namespace lacuna::test {
namespace {

constexpr Rank sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16};

std::string text(Rank size, std::size_t k, int run) { return fmt::format("P={} k={} run {}", size, k, run); }

TEST(OkTopk, ExactSelectionsAndThresholdsBetweenThemGiveTheResultAndKeepTheRest) {
  for (Rank size : sizes) {
    for (std::size_t k : {1u, 9u, 60u}) {
      OkRig rig(size, k, 3, "tau=4");
      for (int run = 0; run < 8; ++run) {
        const Vectors inputs = gradients(rig.states.size(), 501, static_cast<unsigned>(run + 100));
        ASSERT_EQ(rig.run_as_expected(inputs), "") << text(size, k, run);
      }
    }
  }
}

TEST(OkTopk, AnyPatternOfAnyLengthGivesThat) {
  for (Rank size : {1, 2, 3, 5, 8, 9}) {
    for (std::size_t count : {0u, 1u, 2u, 7u, 64u, 333u}) {
      for (Pattern pattern : all_patterns) {
        OkRig rig(size, 1 + count / 10, 2, "tau=3,bucket=2,trigger=2");
        for (int run = 0; run < 4; ++run) {
          const Vectors inputs = sparse_inputs(pattern, rig.states.size(), count, static_cast<unsigned>(run));
          ASSERT_EQ(rig.run_as_expected(inputs), "")
              << text(size, count, run) << " pattern " << static_cast<int>(pattern);
        }
      }
    }
  }
}

/// The k-th element is not lost. Sums that cancel are no entries of the result, so their terms stay in the residual.
TEST(OkTopk, WithAllElementsItIsTheDenseSum) {
  for (Rank size : sizes) {
    OkRig rig(size, 97, 3);
    for (int run = 0; run < 5; ++run) {
      Vectors inputs = sparse_inputs(Pattern::Full, rig.states.size(), 97, static_cast<unsigned>(run));
      ASSERT_EQ(rig.run_next(inputs), "");
      for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
        ASSERT_EQ(rig.outputs[rank], sum_of(inputs)) << text(size, 97, run);
        for (std::size_t i = 0; i < 97; ++i) {
          ASSERT_EQ(rig.residual(rank)[i], rig.outputs[0][i] != 0 ? 0 : inputs[rank][i]) << text(size, 97, run);
        }
        MemoryBlock& residual = rig.states[rank].arrays.front().bytes;
        std::fill_n(residual.data(), residual.size(), std::byte{0});
      }
    }
  }
}

TEST(OkTopk, EqualMagnitudesAreTakenFromTheFirstPlaceOnAndNoneIsLost) {
  for (Rank size : {1, 2, 4, 5, 8}) {
    OkRig rig(size, 10, 4);
    const Vectors ones(rig.states.size(), std::vector<float>(64, 1)), zeros(ones.size(), std::vector<float>(64));
    ASSERT_EQ(rig.run_as_expected(ones), "");
    EXPECT_EQ(std::count(rig.outputs[0].begin(), rig.outputs[0].end(), static_cast<float>(size)), 10);
    std::vector<float> came_out = rig.outputs[0];
    for (int run = 1; run < 40; ++run) {
      ASSERT_EQ(rig.run_next(zeros), "");
      came_out = sum_of({came_out, rig.outputs[0]});
      Vectors all = {came_out};
      for (std::size_t rank = 0; rank < ones.size(); ++rank) all.push_back(rig.residual(rank));
      ASSERT_EQ(sum_of(all), sum_of(ones)) << text(size, 10, run);
    }
    EXPECT_EQ(came_out, sum_of(ones)) << "after so many runs all have come out";
  }
}

/// What comes out of each run and what stays is as much as what went in, also if the runs before took too much or too
/// little.
TEST(OkTopk, ConservesMassInEachPlaceWhateverTheThresholdsDo) {
  for (const char* options : {"tau=2", "bucket=1", "trigger=1", "format=bitmap", "format=dense,bucket=3"}) {
    for (Rank size : {2, 5, 8}) {
      OkRig rig(size, 20, 5, options);
      for (int run = 0; run < 14; ++run) {
        const double scale = run == 3 ? 1e5 : run == 8 ? 10 : 1000;
        const Vectors inputs = gradients(rig.states.size(), 700, static_cast<unsigned>(run), scale);
        Vectors went_in, came_out;
        for (std::size_t rank = 0; rank < inputs.size(); ++rank) went_in.push_back(rig.accumulated(inputs, rank));
        ASSERT_EQ(rig.run_next(inputs), "");
        came_out = {rig.outputs[0]};
        for (std::size_t rank = 0; rank < inputs.size(); ++rank) came_out.push_back(rig.residual(rank));
        ASSERT_EQ(sum_of(came_out), sum_of(went_in)) << options << ", " << text(size, 20, run);
      }
    }
  }
}

TEST(OkTopk, WithoutFeedbackItSelectsFromEachInputAlone) {
  for (Rank size : {1, 4, 5, 8}) {
    OkRig rig(size, 12, 3, "feedback=0");
    for (int run = 0; run < 6; ++run) {
      const Vectors inputs = gradients(rig.states.size(), 400, static_cast<unsigned>(run));
      const OkExpected expected = rig.expected(inputs);
      ASSERT_EQ(rig.run_next(inputs), "");
      for (const auto& output : rig.outputs) ASSERT_EQ(output, expected.result) << text(size, 12, run);
      EXPECT_FALSE(rig.states[0].find(residual_array));
    }
  }
}

TEST(OkTopk, AveragesDivideByAllRanksAndResidualsHoldSums) {
  for (const char* options : {"k=2", "k=2,bucket=1", "k=2,bucket=2", "k=2,trigger=1"}) {
    OkRig rig(4, 2, 2);
    const Vectors inputs(4, {8, 4, 2, 0, 0, 0});
    ASSERT_EQ(rig.run(inputs, "ok_topk", options, Reduction::Avg), "");
    for (std::size_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(rig.outputs[rank], (std::vector<float>{8, 4, 0, 0, 0, 0})) << options;
      EXPECT_EQ(rig.residual(rank), (std::vector<float>{0, 0, 2, 0, 0, 0})) << options;
    }
    ASSERT_EQ(rig.run(Vectors(4, {0, 8, 0, 0, 0, 4}), "ok_topk", options, Reduction::Avg), "");
    EXPECT_EQ(rig.outputs[1][1], 8) << options << ", by thresholds";
  }
}

TEST(OkTopk, AnEmptyResultIsEmptyAndKeepsAll) {
  for (Rank size : {1, 2, 5, 8}) {
    OkRig rig(size, 3, 4);
    Vectors inputs(rig.states.size(), std::vector<float>(50));
    for (int run = 0; run < 3; ++run) {
      ASSERT_EQ(rig.run_next(inputs), "");
      EXPECT_EQ(rig.outputs[0], std::vector<float>(50));
    }
    if (size == 1) continue;
    for (std::size_t i = 0; i < 50; ++i) {  // all sums cancel
      for (std::size_t rank = 0; rank + 1 < inputs.size(); ++rank) inputs[rank][i] = 1;
      inputs.back()[i] = -static_cast<float>(size - 1);
    }
    OkRig cancels(size, 50, 4);
    for (int run = 0; run < 2; ++run) {
      ASSERT_EQ(cancels.run_next(run == 0 ? inputs : Vectors(inputs.size(), std::vector<float>(50))), "");
      EXPECT_EQ(cancels.outputs[0], std::vector<float>(50));
      for (std::size_t rank = 0; rank < inputs.size(); ++rank) EXPECT_EQ(cancels.residual(rank), inputs[rank]);
    }
  }
}

TEST(OkTopk, ANanAndInfinitiesOfOneRankReachAllAndLeaveNothingBehind) {
  OkRig rig(3, 4, 3);
  for (int run = 0; run < 8; ++run) {
    Vectors inputs = gradients(3, 60, static_cast<unsigned>(run));
    if (run == 1 || run == 3) {
      inputs[0][7] = std::numeric_limits<float>::quiet_NaN();
      inputs[1][8] = std::numeric_limits<float>::infinity();
    }
    ASSERT_EQ(rig.run_next(inputs), "");
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(std::isnan(rig.outputs[rank][7]), run == 1 || run == 3) << run;
      EXPECT_EQ(std::isinf(rig.outputs[rank][8]), run == 1 || run == 3) << run;
      EXPECT_TRUE(std::isfinite(rig.residual(rank)[7]) && std::isfinite(rig.residual(rank)[8])) << run;
    }
  }
}

/// A rank's threshold must be made anew between exact selections, and its k-th largest value is not a number.
TEST(OkTopk, NansAsManyAsItSelectsAreNotHidden) {
  for (std::size_t nans : {1u, 3u}) {
    for (bool jumps : {false, true}) {
      OkRig rig(2, 1, 1000, "feedback=0");
      Vectors inputs(2, std::vector<float>(400));
      for (std::size_t rank = 0; rank < 2; ++rank) inputs[rank][50 + 300 * rank] = 10;
      ASSERT_EQ(rig.run_next(inputs), "");
      for (std::size_t i : {50, 350, 380}) inputs[0][i] = jumps ? 11.0f : inputs[0][i];
      ASSERT_EQ(rig.run_next(inputs), "");
      ASSERT_EQ(std::isnan(rig.local(0)), jumps);
      for (std::size_t i = 0; i < nans; ++i) inputs[0][7 + i] = std::nanf("");
      ASSERT_EQ(rig.run_next(inputs), "");
      for (const auto& output : rig.outputs) {
        EXPECT_TRUE(std::any_of(output.begin(), output.end(), [](float one) { return std::isnan(one); })) << nans;
      }
    }
  }
}

TEST(OkTopk, OneRankGetsTheLargestOfItsSelectionAndSendsNothing) {
  OkRig rig(1, 11, 3);
  rig.sent();
  for (int run = 0; run < 7; ++run) {
    const Vectors inputs = gradients(1, 300, static_cast<unsigned>(run));
    const OkExpected expected = rig.expected(inputs);
    ASSERT_EQ(rig.run_as_expected(inputs), "");
    EXPECT_EQ(places_of(rig.outputs[0]).size(), std::min<std::size_t>(expected.selected[0].size(), 11)) << run;
  }
  EXPECT_EQ(rig.sent()[0], 0u);
}

TEST(OkTopk, InPlaceIsTheSame) {
  OkRig rig(6, 13, 2, "trigger=2"), other(6, 13, 2);
  for (int run = 0; run < 5; ++run) {
    Vectors inputs = gradients(6, 200, static_cast<unsigned>(run));
    ASSERT_EQ(rig.run_next(inputs), "");
    std::vector<Call> calls;
    for (std::size_t rank = 0; rank < 6; ++rank) {
      Call call = allreduce_call(inputs[rank], inputs[rank], "ok_topk");
      call.options.method = *method_options("ok_topk:k=13,tau_prime=2,trigger=2");
      call.options.state = &other.states[rank];
      calls.push_back(call);
    }
    for (const Status& status : other.ranks.run(calls)) ASSERT_TRUE(status) << status.to_string();
    ASSERT_EQ(inputs, rig.outputs) << run;
  }
}

TEST(OkTopk, TheBucketOnlySaysHowManyMessagesAreOnTheirWay) {
  OkRig one(7, 25, 2, "bucket=1"), three(7, 25, 2, "bucket=3"), all(7, 25, 2, "bucket=255");
  for (int run = 0; run < 5; ++run) {
    const Vectors inputs = gradients(7, 900, static_cast<unsigned>(run));
    for (OkRig* rig : {&one, &three, &all}) ASSERT_EQ(rig->run_as_expected(inputs), "") << run;
    ASSERT_EQ(one.outputs, three.outputs);
    ASSERT_EQ(one.outputs, all.outputs);
  }
}

}  // namespace
}  // namespace lacuna::test
