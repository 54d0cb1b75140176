#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/skip/importance.hpp"
#include "tests/algorithms/skip/skip_rig.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/skip_call.hpp"
#include "tests/support/state_bytes.hpp"

namespace lacuna::test {
namespace {

/// Tensors of one model on one rank. The results of its calls are their inputs. Each tensor is one automatic segment.
class Model {
 public:
  Model(std::size_t tensors, Skip skip) : ranks_(1), skip_(std::move(skip)), states(tensors) {
    for (MethodState& state : states) model_.push_back(&state);
    for (MethodState& state : states) state.model = model_;
  }

  /// Returns what becomes of the tensor in its next run. On one rank skipped parts are dense.
  SkipOutcome run(std::size_t tensor, const std::vector<float>& values) {
    std::vector<float> output(values.size());
    Skip skip = skip_;
    skip.segments = {{.offset = 0, .count = values.size(), .policy = SkipPolicy::Automatic}};
    Call call = allreduce_call(values, output, "skip_ring");
    call.options.method = lacuna::skip(std::move(skip));
    call.options.state = &states[tensor];
    runtime::Run& run = must_post(ranks_.communicator(0), call);
    EXPECT_TRUE(ranks_.sweep_until([&] { return run.finished; }));
    EXPECT_TRUE(run.status) << run.status.to_string();
    EXPECT_EQ(output, values);
    const Report report = ranks_.communicator(0).report(run);
    ranks_.communicator(0).release(run);
    return report.parts.empty() ? SkipOutcome::Dense : static_cast<SkipOutcome>(report.parts.front().outcome);
  }

  /// Runs each tensor once, which measures it.
  void measure(const std::vector<std::vector<float>>& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(run(i, tensors[i]), SkipOutcome::Measured);
  }

  /// Returns what is known about a tensor.
  SegmentImportance known(std::size_t tensor) const { return importance_of(states[tensor]).at(0); }

 private:
  Ranks ranks_;
  Skip skip_;
  std::vector<MethodState*> model_;

 public:
  std::vector<MethodState> states;
};

std::vector<float> normal(std::size_t count, float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> values(0, deviation);
  std::vector<float> all(count);
  for (float& value : all) value = values(random);
  return all;
}

TEST(SkipImportance, SharesAreThoseOfAFullSortOfAllElements) {
  const std::vector<std::vector<float>> tensors = {normal(20000, 1, 1), normal(5000, 3, 2), normal(1000, 0.1F, 3),
                                                   std::vector<float>(300, 0.0F)};
  std::vector<float> magnitudes;
  for (const auto& tensor : tensors) {
    for (float value : tensor) magnitudes.push_back(std::fabs(value));
  }
  std::nth_element(magnitudes.begin(), magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 4),
                   magnitudes.end(), std::greater<>());
  const float least = magnitudes[magnitudes.size() / 4];
  Model model(tensors.size(), {.steps = 1, .small = 0, .importance_every = 10, .importance_samples = 20000});
  model.measure(tensors);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_FALSE(model.known(i).measured) << "nothing has asked for it yet";
    model.run(i, tensors[i]);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto inside =
        std::count_if(tensors[i].begin(), tensors[i].end(), [&](float value) { return std::fabs(value) > least; });
    const double share = static_cast<double>(inside) / static_cast<double>(tensors[i].size());
    EXPECT_NEAR(model.known(i).share, share, 0.02) << "tensor " << i;
    EXPECT_EQ(model.known(i).important, share > 0.5) << "tensor " << i;
    EXPECT_EQ(model.known(i).count, tensors[i].size());
    EXPECT_TRUE(model.known(i).measured);
  }
}

TEST(SkipImportance, ASampleComesNearTheWhole) {
  const std::vector<std::vector<float>> tensors = {normal(100000, 1, 1), normal(50000, 2, 2)};
  Model whole(2, {.steps = 1, .importance_samples = 100000}), sampled(2, {.steps = 1, .importance_samples = 2000});
  for (Model* one : {&whole, &sampled}) {
    one->measure(tensors);
    for (std::size_t i : {0u, 1u}) one->run(i, tensors[i]);
  }
  for (std::size_t i : {0u, 1u}) {
    EXPECT_NEAR(whole.known(i).share, sampled.known(i).share, 0.05);
    EXPECT_NE(whole.known(i).share, sampled.known(i).share);
  }
}

TEST(SkipImportance, IsMeasuredEverySoManyRunsAndFollowsWhatItSees) {
  Model model(2, {.steps = 1, .small = 0, .importance_every = 3, .importance_threshold = 0.4});
  const auto large = normal(1000, 10, 1), small = normal(1000, 0.1F, 2);
  std::vector<SkipOutcome> seen;
  for (int run = 0; run < 9; ++run) {
    const bool first_is_large = run < 3 || run >= 6;
    seen.push_back(model.run(0, first_is_large ? large : small));
    model.run(1, first_is_large ? small : large);
  }
  const auto measured = SkipOutcome::Measured, is_protected = SkipOutcome::Protected, skipped = SkipOutcome::Dense;
  EXPECT_EQ(seen, (std::vector<SkipOutcome>{measured, is_protected, is_protected, measured, skipped, skipped, measured,
                                            is_protected, is_protected}));
}

TEST(SkipImportance, OfATensorWithoutAModelIsMeasuredAgainstItselfAlone) {
  Model model(2, {.steps = 1, .small = 0, .importance_threshold = 0.4});
  const auto large = normal(1000, 10, 1), small = normal(1000, 0.1F, 2);
  model.measure({large, small});
  for (MethodState& state : model.states) state.model = {};
  for (std::size_t i : {0u, 1u}) {
    EXPECT_EQ(model.run(i, large), SkipOutcome::Dense);
    EXPECT_NEAR(model.known(i).share, 0.25, 0.02);
  }
}

TEST(SkipImportance, AFailedMeasurementChangesNothing) {
  Model model(2, {.steps = 1, .small = 0, .importance_every = 2, .importance_threshold = 0.4});
  const auto large = normal(1000, 10, 1), small = normal(1000, 0.1F, 2);
  model.measure({large, small});
  EXPECT_EQ(model.run(0, large), SkipOutcome::Protected);
  ++model.states[0].runs;  // as a run that measures and fails leaves it
  EXPECT_EQ(model.run(0, small), SkipOutcome::Protected);
  EXPECT_EQ(model.run(0, small), SkipOutcome::Measured);
}

TEST(SkipImportance, RestoredItDecidesAsTheSavedOne) {
  const Skip skip{.steps = 1, .small = 0, .importance_every = 4, .importance_threshold = 0.3};
  const std::vector<std::vector<float>> tensors = {normal(1000, 10, 1), normal(3000, 0.1F, 2), normal(50, 4, 3)};
  Model first(3, skip), second(3, skip);
  first.measure(tensors);
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(second.states[i].restore(*first.states[i].save()));
  for (int run = 0; run < 5; ++run) {
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(first.run(i, tensors[i]), second.run(i, tensors[i])) << run;
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(*first.states[i].save(), *second.states[i].save());
}

TEST(SkipImportance, ASegmentExactlyAtTheThresholdIsNotImportant) {
  std::vector<float> half(8, 1), none(8, 1);
  for (std::size_t i = 0; i < 4; ++i) half[i] = 100;  // the largest quarter of all 16, and half of its segment
  for (const auto& [threshold, outcome] : {std::pair(0.5, SkipOutcome::Dense), {0.4999, SkipOutcome::Protected}}) {
    Model model(2, {.steps = 1, .small = 0, .importance_every = 10, .importance_threshold = threshold});
    model.measure({half, none});
    EXPECT_EQ(model.run(0, half), outcome) << threshold;
    EXPECT_EQ(model.known(0).share, 0.5);
  }
}

TEST(SkipImportance, OfAnotherNumberOfSegmentsIsRefused) {
  Ranks ranks(1);
  MethodState state;
  std::vector<float> values(100, 1), output(100);
  Call call = allreduce_call(values, output, "skip_ring");
  call.options.state = &state;
  const auto method = [](std::size_t first) {
    return lacuna::skip({.steps = 1,
                         .small = 0,
                         .segments = {{0, first, SkipPolicy::Automatic}, {first, 100 - first, SkipPolicy::Automatic}}});
  };
  call.options.method = method(50);
  ASSERT_TRUE(ranks.run({call})[0]);
  call.options.method = lacuna::skip({.steps = 1, .small = 0, .segments = {{0, 100, SkipPolicy::Automatic}}});
  const auto refused = ranks.post(0, call);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.status().message(),
      "the state knows the importance of 2 segments, the call has 1: they must be equal, or the state must be new");
}

/// Ranks with a bucket of four segments. The gradients of the second one are large.
struct AutomaticRig : SkipRig<float> {
  AutomaticRig() : SkipRig(4), states(4) {}

  void run_once(unsigned seed) {
    std::mt19937 random(seed);
    for (auto& input : inputs) {
      input.resize(700);
      for (std::size_t i = 0; i < 700; ++i) {
        std::normal_distribution<float> values(0, i >= 200 && i < 400 ? 10.0F : 0.1F);
        input[i] = values(random);
      }
    }
    Call call{.collective = Collective::Allreduce};
    call.options.algorithm = "skip_ring";
    call.options.method = lacuna::skip({.steps = 2,
                                        .mode = SkipMode::Random,
                                        .small = 40,
                                        .importance_every = 5,
                                        .segments = {std::begin(segments), std::end(segments)}});
    run(calls_with(call, [&](Call& one, Rank rank) { one.options.state = &states[static_cast<std::size_t>(rank)]; }));
  }

  /// Are elements [begin, end) of the last result the sums of all ranks, up to rounding?
  bool is_dense(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      double sum = 0;
      for (const auto& input : inputs) sum += static_cast<double>(input[i]);
      if (std::fabs(static_cast<double>(outputs[1][i]) - sum) > 1e-4) return false;
    }
    return true;
  }

  const SkipSegment segments[4] = {{.offset = 0, .count = 200, .policy = SkipPolicy::Automatic},
                                   {.offset = 200, .count = 200, .policy = SkipPolicy::Automatic},
                                   {.offset = 400, .count = 5, .policy = SkipPolicy::Automatic},
                                   {.offset = 405, .count = 295, .policy = SkipPolicy::Automatic}};
  std::vector<MethodState> states;
};

TEST(SkipAutomatic, ProtectsTheSegmentWithTheLargeGradientsAndSmallOnes) {
  AutomaticRig rig;
  for (unsigned run = 0; run < 11; ++run) {
    rig.run_once(run);
    const bool measures = run % 5 == 0;
    EXPECT_EQ(rig.is_dense(0, 200), measures) << "run " << run;
    EXPECT_TRUE(rig.is_dense(200, 405)) << "run " << run;
    EXPECT_EQ(rig.is_dense(405, 700), measures) << "run " << run;
    for (const auto& output : rig.outputs) ASSERT_EQ(output, rig.outputs[0]);
  }
  const auto figures = importance_of(rig.states[0]);
  ASSERT_EQ(figures.size(), 3u) << "small segments are not measured";
  EXPECT_GT(figures[1].share, 0.8);
  EXPECT_EQ(figures[2].segment, 3u);
  for (const MethodState& one : rig.states) {
    EXPECT_EQ(bytes_of(one, "importance"), bytes_of(rig.states[0], "importance"));
  }
}

TEST(SkipAutomatic, ARestoredJobRepeatsTheDecisions) {
  AutomaticRig first, second;
  for (unsigned run = 0; run < 8; ++run) first.run_once(run);
  for (std::size_t rank = 0; rank < 4; ++rank) ASSERT_TRUE(second.states[rank].restore(*first.states[rank].save()));
  for (unsigned run = 8; run < 16; ++run) {
    first.run_once(run);
    second.run_once(run);
    EXPECT_EQ(first.outputs, second.outputs) << "run " << run;
  }
}

TEST(SkipAutomatic, ACallThatDependsOnAMeasurementUnderWayIsBusy) {
  AutomaticRig rig, other;
  rig.run_once(1);
  for (MethodState& state : other.states) state.runs = 2;  // it measures at its first run with segments, not by count
  std::vector<std::vector<MethodState*>> models;
  for (std::size_t rank = 0; rank < 4; ++rank) models.push_back({&rig.states[rank], &other.states[rank]});
  for (std::size_t rank = 0; rank < 4; ++rank) rig.states[rank].model = other.states[rank].model = models[rank];
  Call call{.collective = Collective::Allreduce};
  call.options.algorithm = "skip_ring";
  call.options.method = lacuna::skip(
      {.steps = 1, .small = 40, .importance_every = 5, .segments = {std::begin(rig.segments), std::end(rig.segments)}});
  const auto calls_on = [&](std::vector<MethodState>& states) {
    return rig.calls_with(call,
                          [&](Call& one, Rank rank) { one.options.state = &states[static_cast<std::size_t>(rank)]; });
  };
  const auto measuring = calls_on(other.states), waiting = calls_on(rig.states);
  std::vector<runtime::Run*> runs;
  for (Rank rank = 0; rank < 4; ++rank) {
    runs.push_back(*rig.ranks.post(rank, measuring[static_cast<std::size_t>(rank)]));
  }
  const auto early = rig.ranks.post(0, waiting[0]);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.status().code(), Code::Busy);
  EXPECT_EQ(early.status().message(),
            "what segment 0 does depends on another call of its model, which measures and has not ended: wait for it "
            "first");
  const auto again = rig.ranks.post(0, measuring[0]);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.status().message(), "a call that is still running changes this state");
  ASSERT_TRUE(rig.ranks.sweep_until(
      [&] { return std::all_of(runs.begin(), runs.end(), [](auto* run) { return run->finished; }); }));
  for (Rank rank = 0; rank < 4; ++rank) rig.ranks.communicator(rank).release(*runs[static_cast<std::size_t>(rank)]);
  rig.run(waiting);
}

}  // namespace
}  // namespace lacuna::test
