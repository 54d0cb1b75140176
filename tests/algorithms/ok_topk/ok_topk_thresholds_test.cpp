#include "algorithms/ok_topk/threshold.hpp"
#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"

// The thresholds of ok_topk between exact selections, and how many elements they select.
namespace lacuna::test {
namespace {

constexpr std::size_t count = 20000, k = 500;

Vectors scaled(Vectors all, double scale) {
  for (auto& one : all) {
    for (float& value : one) value = static_cast<float>(std::round(scale * value));
  }
  return all;
}

/// Accumulated gradients whose scale drifts: each input is what their residual lacks.
Vectors inputs_for(const OkRig& rig, const Vectors& accumulated) {
  Vectors inputs = accumulated;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    const Vectors nothing(inputs.size(), std::vector<float>(count));
    const std::vector<float> kept = rig.accumulated(nothing, rank);
    for (std::size_t i = 0; i < count; ++i) inputs[rank][i] -= kept[i];
  }
  return inputs;
}

struct Counts {
  std::size_t least, most;
};
/// Of what the ranks selected in the next run.
Counts run_and_count(OkRig& rig, const Vectors& inputs) {
  const OkExpected expected = rig.expected(inputs);
  EXPECT_EQ(rig.run_as_expected(inputs), "");
  Counts counts{count, 0};
  for (const auto& places : expected.selected) {
    counts.least = std::min(counts.least, places.size());
    counts.most = std::max(counts.most, places.size());
  }
  return counts;
}

class OkThresholds : public testing::TestWithParam<double> {};

/// By +1 % or -1 % from run to run, up and down.
TEST_P(OkThresholds, SelectAboutKInFiveHundredRunsOfADriftingGradient) {
  OkRig rig(3, k, 32);
  std::vector<Vectors> drawn;
  for (unsigned seed = 0; seed < 25; ++seed) drawn.push_back(gradients(3, count, seed, 1e4));
  double scale = 1;
  std::size_t in_result_least = count, in_result_most = 0;
  for (int run = 0; run < 500; ++run) {
    scale *= run / 100 % 2 ? 1 / GetParam() : GetParam();
    const Counts counts =
        run_and_count(rig, inputs_for(rig, scaled(drawn[static_cast<std::size_t>(run) % drawn.size()], scale)));
    ASSERT_GE(counts.least, 2 * k / 3) << "run " << run;
    ASSERT_LE(counts.most, 4 * k / 3) << "run " << run;
    const std::size_t result = OkRig::places_of(rig.outputs[0]).size();
    in_result_least = std::min(in_result_least, result);
    in_result_most = std::max(in_result_most, result);
  }
  EXPECT_GE(in_result_least, 2 * k / 3);
  EXPECT_LE(in_result_most, 4 * k / 3);
}

INSTANTIATE_TEST_SUITE_P(, OkThresholds, testing::Values(1.0, 1.01, 0.99),
                         [](const auto& one) { return fmt::format("By{}", std::lround(one.param * 100)); });

/// So that only the run of the jump takes too many or too few.
TEST(OkThreshold, IsMadeAnewAfterAJump) {
  for (double jump : {10.0, 0.1}) {
    OkRig rig(3, k, 1000);
    double scale = 1e4;
    for (int run = 0; run < 12; ++run) {
      if (run == 6) scale *= jump;
      const Counts counts = run_and_count(rig, inputs_for(rig, gradients(3, count, static_cast<unsigned>(run), scale)));
      if (run == 6) continue;
      ASSERT_GE(counts.least, 2 * k / 3) << jump << " run " << run;
      ASSERT_LE(counts.most, 4 * k / 3) << jump << " run " << run;
    }
  }
}

/// Four ranks with k = 30, after a run that has told all thresholds: 30 of rank 0 are 1000, of the others 900, so that
/// the result's is between. What is 1000 gets into it then, and what is 900, of others than rank 0, is only selected.
struct OkTold : OkRig {
  explicit OkTold(const std::string& options = "gain=0") : OkRig(4, 30, 1000, options + ",feedback=0") {
    EXPECT_EQ(run_with({30, 0, 0, 0}, {0, 30, 30, 30}), "");
    EXPECT_TRUE(900 <= global() && global() < 1000);
  }
  /// So many of each rank, at places that no other has.
  std::string run_with(const std::array<std::size_t, 4>& large, const std::array<std::size_t, 4>& small) {
    Vectors inputs(4, std::vector<float>(4000));
    for (std::size_t rank = 0; rank < 4; ++rank) {
      for (std::size_t i = 0; i < large[rank] + small[rank]; ++i) {
        inputs[rank][40 * i + rank] = i < large[rank] ? 1000 : 900;
      }
      inputs[rank].back() = 1;
    }
    const OkExpected expected = this->expected(inputs);
    const std::string ended = run_next(inputs);
    return !ended.empty() || outputs[3] == expected.result ? ended : "another result";
  }
};

/// Of k = 30, less than 20, or the 40 for which there is room.
TEST(OkThreshold, OfARankIsMadeAnewWhereItTakesAThirdTooFewOrTooMany) {
  for (std::size_t taken : {1u, 19u, 20u, 30u, 39u, 40u, 60u}) {
    OkTold rig;
    ASSERT_EQ(rig.run_with({30, 0, 0, 0}, {0, taken, 25, 25}), "");
    EXPECT_EQ(std::isnan(rig.local(1)), taken < 20 || taken >= 40) << taken;
    EXPECT_FALSE(std::isnan(rig.local(2)));
    EXPECT_FALSE(std::isnan(rig.global()));
    ASSERT_EQ(rig.run_with({30, 0, 0, 0}, {0, 30, 25, 25}), "");
    EXPECT_FALSE(std::isnan(rig.local(1))) << taken;
  }
}

/// Of k = 30, less than 7.5 or more than 120.
TEST(OkThreshold, OfTheResultIsMadeAnewWhereItTakesFourTimesTooFewOrTooMany) {
  for (std::size_t taken : {0u, 7u, 8u, 30u, 120u, 121u}) {
    OkTold rig;
    const std::size_t most = taken > 100 ? 30 : taken, more = (taken - most) / 3;
    ASSERT_EQ(rig.run_with({most + (taken - most) % 3, more, more, more}, {0, 30 - more, 30 - more, 30 - more}), "");
    EXPECT_EQ(rig.reevaluates(), taken < 8 || taken > 120) << taken;
    ASSERT_EQ(rig.run_with({30, 0, 0, 0}, {0, 30, 30, 30}), "");
    EXPECT_FALSE(rig.reevaluates());
  }
}

/// By half of what a rank's own moves.
TEST(OkThreshold, OfTheResultMovesByHalfOfTheGain) {
  OkTold rig("gain=0.2");
  const double first = rig.global();
  ASSERT_EQ(rig.run_with({30, 6, 0, 0}, {0, 24, 30, 30}), "");
  EXPECT_EQ(rig.global(), first * (1 + 0.1 / 4 * 0.2 + 0.1 * 0.2)) << "36 in place of 30";
}

/// However steep a trend has become.
TEST(OkThreshold, NeverFallsBelowAQuarterOfItselfInARun) {
  const auto options = *method_options("ok_topk:k=1000");
  Call call{.collective = Collective::Allreduce, .count = 5000};
  call.options.method = options;
  std::array<std::byte, ok::threshold_words * sizeof(double)> nothing{};
  ok::Threshold threshold(nothing.data(), call, 4);
  threshold.make(1e6);
  for (int run = 0; run < 100; ++run) {
    const double before = threshold.value();
    threshold.move(0, 0.25);
    ASSERT_GE(threshold.value(), before / 4) << run;
    ASSERT_LT(threshold.value(), before) << run;
  }
}

/// The rule of the manual, in the numbers of one step.
TEST(OkThreshold, MovesByTheGainTimesTheShareOfWhatWasTooMany) {
  OkRig rig(2, 10, 100, "gain=0.2,feedback=0");
  std::vector<float> values(100);
  for (std::size_t i = 0; i < 20; ++i) values[i] = static_cast<float>(1000 - 50 * i);
  ASSERT_EQ(rig.run_next({values, values}), "");
  const double first = rig.local(0), global = rig.global();
  EXPECT_GE(first, 500);  // the 11th value
  EXPECT_LT(first, 550);
  EXPECT_EQ(global, 0) << "the result has no more than k elements: all of them";
  for (std::size_t i = 10; i < 12; ++i) values[i] = 600;
  ASSERT_EQ(rig.run_next({values, values}), "");
  EXPECT_EQ(rig.local(0), first * (1 + 0.05 * 0.2 + 0.2 * 0.2)) << "12 in place of 10";
  EXPECT_EQ(rig.local(1), rig.local(0));
  for (std::size_t i = 3; i < 12; ++i) values[i] = i < 8 ? 900.0f : 1.0f;
  const double second = rig.local(0);
  ASSERT_EQ(rig.run_next({values, values}), "");
  EXPECT_NEAR(rig.local(0) / second, 1 + (0.05 * 0.2 - 0.05 * 0.2) - 0.2 * 0.2, 1e-12) << "8 in place of 10";
}

TEST(OkThreshold, StaysWithoutGain) {
  OkRig rig(3, k, 100, "gain=0,feedback=0");
  ASSERT_EQ(rig.run_next(gradients(3, count, 1)), "");
  const double local = rig.local(1), global = rig.global();
  for (unsigned run = 2; run < 8; ++run) {
    ASSERT_EQ(rig.run_next(gradients(3, count, run)), "");
    EXPECT_EQ(rig.local(1), local);
    EXPECT_EQ(rig.global(), global);
  }
}

/// Between exact selections a threshold goes on as it went from one to the other.
TEST(OkThreshold, GoesOnAsItWent) {
  OkRig rig(2, 10, 4, "gain=0,feedback=0");
  std::vector<double> exact;
  for (int run = 0; run < 8; ++run) {
    std::vector<float> values(100);
    for (std::size_t i = 0; i < 100; ++i)
      values[i] = static_cast<float>((100.0 - static_cast<double>(i)) * (100 + run));
    const bool exactly = rig.reevaluates();
    ASSERT_EQ(rig.run_next({values, values}), "");
    if (exactly) exact.push_back(rig.local(0));
    if (exactly) continue;
    const double growth = exact.size() < 2 ? 0 : (exact[1] - exact[0]) / exact[0] / 4;
    const double so_far = exact.back() * std::pow(1 + growth, run % 4);
    EXPECT_NEAR(rig.local(0) / so_far, 1, 1e-12) << run;
  }
  EXPECT_EQ(exact.size(), 2u);
}

/// A jump that only a regular exact selection sees does not go on.
TEST(OkThreshold, DoesNotGoOnAsAJump) {
  for (double jump : {100.0, 0.01}) {
    OkRig rig(3, k, 4, "gain=0,feedback=0");
    for (unsigned run = 0; run < 8; ++run) {
      const Vectors inputs = gradients(3, count, run, run < 4 ? 1e3 : jump * 1e3);
      const bool exactly = rig.reevaluates();
      ASSERT_EQ(rig.run_next(inputs), "");
      EXPECT_EQ(exactly, run % 4 == 0) << run;
      if (run < 4) continue;
      const std::size_t result = OkRig::places_of(rig.outputs[0]).size();
      EXPECT_TRUE(2 * k / 3 <= result && result <= 4 * k / 3) << result << " in run " << run;
    }
  }
}

/// On tau' runs the k largest are exactly those above the thresholds that are kept.
TEST(OkThreshold, OfAnExactSelectionTellsItApart) {
  OkRig rig(4, k, 1);
  for (unsigned run = 0; run < 5; ++run) {
    const Vectors inputs = gradients(4, count, run, 1e6);
    const OkExpected expected = rig.expected(inputs);
    Vectors accumulated;
    for (std::size_t rank = 0; rank < 4; ++rank) accumulated.push_back(rig.accumulated(inputs, rank));
    ASSERT_EQ(rig.run_as_expected(inputs), "");
    for (std::size_t rank = 0; rank < 4; ++rank) {
      const std::vector<std::size_t> above = OkRig::above(accumulated[rank], rig.local(rank));
      EXPECT_EQ(std::set<std::size_t>(above.begin(), above.end()), expected.selected[rank]);
    }
    const std::vector<std::size_t> above = OkRig::above(expected.sum, rig.global());
    EXPECT_EQ(above.size(), k);
    EXPECT_EQ(only(expected.sum, above), expected.result);
  }
}

/// Density, reduction and ranks may change from call to call, and a state may come from another method: thresholds are
/// of what they were made for.
TEST(OkThreshold, IsMadeAnewForOtherNumbersOfElements) {
  SparseRig rig(5);
  ASSERT_EQ(rig.run(gradients(5, 3000, 1), "sparse_split", "k=50"), "");
  rig.method = "ok_topk";
  for (int entries : {50, 400, 5, 50}) {
    for (unsigned run = 0; run < 3; ++run) {
      ASSERT_EQ(rig.run(gradients(5, 3000, run), "ok_topk", fmt::format("k={},tau_prime=100", entries)), "") << entries;
      const std::size_t result = OkRig::places_of(rig.outputs[0]).size();
      EXPECT_EQ(run == 0 ? result : static_cast<std::size_t>(entries), static_cast<std::size_t>(entries));
      for (const auto& output : rig.outputs) ASSERT_EQ(output, rig.outputs[0]);
    }
  }
  for (auto& state : rig.states) state.arrays.erase(state.arrays.begin());
  const Vectors inputs = gradients(5, 3000, 9);
  ASSERT_EQ(rig.run(inputs, "ok_topk", "density=1,tau_prime=100"), "");
  EXPECT_EQ(rig.outputs[0], sum_of(inputs)) << "all of it, whatever was asked for before";
}

TEST(OkThreshold, OfSumsIsNotThatOfAverages) {
  SparseRig rig(4);
  rig.method = "ok_topk";
  for (Reduction reduction : {Reduction::Sum, Reduction::Avg, Reduction::Sum}) {
    ASSERT_EQ(rig.run(gradients(4, 3000, 3), "ok_topk", "k=60,tau_prime=100,feedback=0", reduction), "");
    EXPECT_EQ(OkRig::places_of(rig.outputs[0]).size(), 60u);
  }
}

/// A result of all sums tells a threshold of 0, which can't grow.
TEST(OkThreshold, OfNothingIsMadeAnewWhereTheResultHasAThirdTooMany) {
  OkRig rig(2, 30, 1000, "feedback=0");
  const std::vector<float> one = gradients(1, 900, 1)[0];
  ASSERT_EQ(rig.run_next({one, one}), "");
  ASSERT_EQ(rig.global(), 0);
  const Vectors others = gradients(2, 900, 2);
  ASSERT_EQ(rig.run_next(others), "");
  ASSERT_GT(OkRig::places_of(rig.outputs[0]).size(), 40u);
  ASSERT_EQ(rig.run_next(others), "");
  EXPECT_EQ(OkRig::places_of(rig.outputs[0]).size(), 30u);
}

TEST(OkThreshold, OfOneElementStaysWhereItTakesOne) {
  for (std::size_t few : {1u, 2u}) {
    OkRig rig(3, few, 1000, "feedback=0,gain=0");
    std::vector<float> values(100);
    for (std::size_t i = 0; i < 10; ++i) values[i] = static_cast<float>(1000 - 50 * i);
    for (int run = 0; run < 4; ++run) {
      ASSERT_EQ(rig.run_next({values, values, values}), "");
      EXPECT_FALSE(std::isnan(rig.local(0))) << few << " run " << run;
    }
  }
}

/// An overfull run takes the largest of each range, not all of the first ones.
TEST(OkThreshold, ThatIsTooLowLeavesRoomForAllRanges) {
  constexpr std::size_t p = 8;
  OkRig rig(p, k, 1000, "feedback=0");
  ASSERT_EQ(rig.run_next(gradients(p, count, 1)), "");
  const Vectors jump = gradients(p, count, 2, 1e5);
  const OkExpected expected = rig.expected(jump);
  ASSERT_EQ(rig.run_next(jump), "");
  EXPECT_EQ(rig.outputs[0], expected.result);
  const std::vector<std::size_t> begins = rig.ranges(count);
  for (std::size_t rank = 0; rank < p; ++rank) {
    EXPECT_LE(expected.selected[rank].size(), k + k / 3);
    for (std::size_t range = 0; range < p; ++range) {
      EXPECT_GE(OkRig::within(expected.selected[rank], begins, range), k / 16) << rank << " of " << range;
    }
  }
}

}  // namespace
}  // namespace lacuna::test
