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

/// Returns inputs that make the accumulated gradients these. Each input is what the residual lacks.
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
/// Counts what the ranks select in the next run.
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

/// The gradient grows or shrinks by 1 % from run to run, in turn.
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
    const std::size_t result = places_of(rig.outputs[0]).size();
    in_result_least = std::min(in_result_least, result);
    in_result_most = std::max(in_result_most, result);
  }
  EXPECT_GE(in_result_least, 2 * k / 3);
  EXPECT_LE(in_result_most, 4 * k / 3);
}

INSTANTIATE_TEST_SUITE_P(, OkThresholds, testing::Values(1.0, 1.01, 0.99),
                         [](const auto& one) { return fmt::format("By{}", std::lround(one.param * 100)); });

/// Then only the run of the jump takes too many or too few.
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

/// Four ranks with k = 30 after an exact run, in which each rank took 30 elements of 900. Then they select all elements
/// of 900 or more.
struct OkTold : OkRig {
  OkTold() : OkRig(4, 30, 1000, "feedback=0") { EXPECT_EQ(run_with({30, 30, 30, 30}), ""); }
  /// Gives each rank that many large elements, at places that no other rank has.
  std::string run_with(const std::array<std::size_t, 4>& large) {
    Vectors inputs(4, std::vector<float>(4000));
    for (std::size_t rank = 0; rank < 4; ++rank) {
      for (std::size_t i = 0; i < large[rank]; ++i) inputs[rank][40 * i + rank] = 900;
      inputs[rank].back() = 1;
    }
    return run_next(inputs);
  }
};

/// k is 30. A rank takes too few below 20, and too many from 40 on, because it has room for 40.
TEST(OkThreshold, OfARankIsMadeAnewWhereItTakesAThirdTooFewOrTooMany) {
  for (std::size_t taken : {1u, 19u, 20u, 30u, 39u, 40u, 60u}) {
    OkTold rig;
    ASSERT_EQ(rig.run_with({30, taken, 25, 25}), "");
    EXPECT_EQ(std::isnan(rig.local(1)), taken < 20 || taken >= 40) << taken;
    EXPECT_FALSE(std::isnan(rig.local(2)));
    ASSERT_EQ(rig.run_with({30, 30, 25, 25}), "");
    EXPECT_FALSE(std::isnan(rig.local(1))) << taken;
  }
}

/// A threshold of calls for ten entries, and runs that tell it what they have selected.
class Moved {
 public:
  explicit Moved(double exactly) { threshold_.make(exactly); }

  /// Makes a run that selected that many. The least is 101, and each of the others is larger by 1.
  double after(std::size_t selected, std::size_t gone) {
    std::vector<float> values(selected);
    for (std::size_t i = 0; i < selected; ++i) values[i] = static_cast<float>(101 + i);
    threshold_.move(kernels::best_backend(),
                    {.values = {Dtype::F32, reinterpret_cast<const std::byte*>(values.data()), selected}, .gone = gone},
                    workspace_.data());
    return threshold_.value();
  }

 private:
  std::array<std::byte, ok::threshold_words * sizeof(double)> nothing_{};
  std::vector<std::byte> workspace_ = std::vector<std::byte>(kernels::Backend::workspace_bytes());
  ok::OwnThreshold threshold_{nothing_.data(), 10, 4};
};

/// A state may be used with groups of more or fewer ranks and with other numbers of elements.
TEST(OkThreshold, IsTakenFromAStateOnlyForTheElementsAndRanksThatItWasMadeFor) {
  for (std::size_t entries : {1u, 10u, 4999u, 5000u}) {
    for (Rank ranks : {1, 2, 4, 1024}) {
      std::array<std::byte, ok::threshold_words * sizeof(double)> array{};
      ok::OwnThreshold made(array.data(), entries, ranks);
      EXPECT_FALSE(made.is_known()) << "a state begins with zeros";
      made.make(100);
      made.store(array.data());
      for (std::size_t others : {1u, 9u, 10u, 11u, 4999u, 5000u}) {
        for (Rank group : {1, 2, 3, 4, 1023, 1024}) {
          const ok::OwnThreshold taken(array.data(), others, group);
          EXPECT_EQ(taken.is_known(), others == entries && group == ranks)
              << "made for " << entries << " elements of " << ranks << " ranks, taken for " << others << " of "
              << group;
        }
      }
    }
  }
}

TEST(OkThreshold, StaysUntilARunHasToldHowManyNewlyCome) {
  Moved threshold(100);
  EXPECT_EQ(threshold.after(10, 4), 100);
}

/// Six of ten stay, and six come. Then eight of twelve stay, and six are expected to come, four too many.
TEST(OkThreshold, LeavesOutWhatTheNextRunWouldTakeTooMany) {
  Moved threshold(100);
  threshold.after(10, 4);
  const double moved = threshold.after(12, 4);
  EXPECT_LE(104, moved) << "the four least are left out";
  EXPECT_GT(105, moved);
  EXPECT_EQ(threshold.after(10, 6), moved) << "four stay, six come, as many as are wanted";
}

/// Six stay and two come. Then two stay and two are expected to come. Six lack, and the six least lie within 6 of it.
TEST(OkThreshold, FallsAsFarAsSoManyLieAboveItWhereTheNextRunWouldTakeTooFew) {
  Moved threshold(100);
  threshold.after(10, 4);
  const double moved = threshold.after(8, 6);
  EXPECT_GE(94, moved);
  EXPECT_LT(92, moved);
}

/// It does not fall further, however far the selected values reach above it.
TEST(OkThreshold, NeverFallsBelowAQuarterOfItselfInARun) {
  Moved threshold(1);
  threshold.after(10, 4);
  EXPECT_EQ(threshold.after(8, 6), 0.25);
}

/// Density, reduction and ranks may change from call to call, and a state may come from another method. A threshold
/// serves only the number of elements for which it was made.
TEST(OkThreshold, IsMadeAnewForOtherNumbersOfElements) {
  SparseRig rig(5);
  ASSERT_EQ(rig.run(gradients(5, 3000, 1), "sparse_split", "k=50"), "");
  rig.method = "ok_topk";
  for (int entries : {50, 400, 5, 50}) {
    for (unsigned run = 0; run < 3; ++run) {
      ASSERT_EQ(rig.run(gradients(5, 3000, run), "ok_topk", fmt::format("k={},tau_prime=100", entries)), "") << entries;
      const std::size_t result = places_of(rig.outputs[0]).size();
      EXPECT_EQ(result, static_cast<std::size_t>(entries));
      for (const auto& output : rig.outputs) ASSERT_EQ(output, rig.outputs[0]);
    }
  }
  for (auto& state : rig.states) state.arrays.erase(state.arrays.begin());
  const Vectors inputs = gradients(5, 3000, 9);
  ASSERT_EQ(rig.run(inputs, "ok_topk", "density=1,tau_prime=100"), "");
  EXPECT_EQ(rig.outputs[0], sum_of(inputs)) << "all of it, whatever was asked for before";
}

TEST(OkThreshold, OfOneElementStaysWhereItTakesOne) {
  for (std::size_t few : {1u, 2u}) {
    OkRig rig(3, few, 1000, "feedback=0");
    std::vector<float> values(100);
    for (std::size_t i = 0; i < 10; ++i) values[i] = static_cast<float>(1000 - 50 * i);
    for (int run = 0; run < 4; ++run) {
      ASSERT_EQ(rig.run_next({values, values, values}), "");
      EXPECT_FALSE(std::isnan(rig.local(0))) << few << " run " << run;
    }
  }
}

/// A run that would take too many takes the largest of each range, and not all of the first ranges.
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
      EXPECT_GE(within(expected.selected[rank], begins, range), k / 16) << rank << " of " << range;
    }
  }
}

}  // namespace
}  // namespace lacuna::test
