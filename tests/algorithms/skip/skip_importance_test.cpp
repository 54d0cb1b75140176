#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/skip/importance.hpp"
#include "tests/algorithms/skip/skip_rig.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::test {
namespace {

using Next = SkipImportance::Next;

const std::byte* bytes_of(const std::vector<float>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

/// A run has ended well, with this result.
void end(SkipImportance& importance, std::uint64_t key, const void* run, const std::vector<float>& result) {
  importance.measured(key, run, Dtype::F32, bytes_of(result), result.size());
  importance.ended(key, run, true);
}

/// Segment by segment one run that measures, of these values.
void measure(SkipImportance& importance, const std::vector<std::vector<float>>& segments) {
  for (std::size_t key = 0; key < segments.size(); ++key) {
    EXPECT_EQ(importance.next(key), Next::Measure);
    importance.started(key, &importance);
    end(importance, key, &importance, segments[key]);
  }
}

std::vector<float> normal(std::size_t count, float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> values(0, deviation);
  std::vector<float> all(count);
  for (float& value : all) value = values(random);
  return all;
}

TEST(SkipImportance, SharesAreThoseOfAFullSortOfAllElements) {
  const std::vector<std::vector<float>> segments = {normal(20000, 1, 1), normal(5000, 3, 2), normal(1000, 0.1F, 3),
                                                    std::vector<float>(300, 0.0F)};
  std::vector<float> magnitudes;
  for (const auto& segment : segments) {
    for (float value : segment) magnitudes.push_back(std::fabs(value));
  }
  std::nth_element(magnitudes.begin(), magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 4),
                   magnitudes.end(), std::greater<>());
  const float least = magnitudes[magnitudes.size() / 4];
  SkipImportance importance(SkipImportance::Options{.every = 10, .threshold = 0.5, .samples = 20000});
  measure(importance, segments);
  for (std::size_t key = 0; key < segments.size(); ++key) importance.next(key);
  const auto figures = importance.segments();
  ASSERT_EQ(figures.size(), segments.size());
  for (std::size_t key = 0; key < segments.size(); ++key) {
    const auto inside = std::count_if(segments[key].begin(), segments[key].end(),
                                      [&](float value) { return std::fabs(value) > least; });
    const double share = static_cast<double>(inside) / static_cast<double>(segments[key].size());
    EXPECT_NEAR(figures[key].share, share, 0.02) << "segment " << key;
    EXPECT_EQ(figures[key].important, share > 0.5) << "segment " << key;
    EXPECT_TRUE(figures[key].measured);
  }
}

TEST(SkipImportance, ASampleComesNearTheWhole) {
  const std::vector<std::vector<float>> segments = {normal(100000, 1, 1), normal(50000, 2, 2)};
  SkipImportance whole(SkipImportance::Options{.samples = 100000}), sampled(SkipImportance::Options{.samples = 2000});
  for (SkipImportance* one : {&whole, &sampled}) {
    measure(*one, segments);
    one->next(0);
  }
  for (std::size_t key : {0u, 1u}) EXPECT_NEAR(whole.segments()[key].share, sampled.segments()[key].share, 0.05);
}

TEST(SkipImportance, IsMeasuredEverySoManyRunsAndFollowsWhatItSees) {
  SkipImportance importance(SkipImportance::Options{.every = 3, .threshold = 0.4});
  const auto large = normal(1000, 10, 1), small = normal(1000, 0.1F, 2);
  std::vector<Next> seen;
  for (int run = 0; run < 9; ++run) {
    const bool first_is_large = run < 3 || run >= 6;
    seen.push_back(importance.next(0));
    for (std::uint64_t key : {0u, 1u}) {
      importance.next(key);
      importance.started(key, &importance);
      end(importance, key, &importance, (key == 0) == first_is_large ? large : small);
    }
  }
  EXPECT_EQ(seen, (std::vector<Next>{Next::Measure, Next::Protect, Next::Protect, Next::Measure, Next::Skip, Next::Skip,
                                     Next::Measure, Next::Protect, Next::Protect}));
}

TEST(SkipImportance, AFailedRunChangesNothing) {
  SkipImportance importance(SkipImportance::Options{.every = 2, .threshold = 0.4});
  measure(importance, {normal(1000, 10, 1), normal(1000, 0.1F, 2)});
  EXPECT_EQ(importance.next(0), Next::Protect);
  importance.started(0, &importance);
  importance.ended(0, &importance, false);
  EXPECT_EQ(importance.next(0), Next::Measure);
  importance.started(0, &importance);
  importance.ended(0, &importance, false);  // the run that was to measure
  EXPECT_EQ(importance.next(0), Next::Protect);
}

TEST(SkipImportance, AnEarlierRunThatEndsLaterIsNoMeasurement) {
  SkipImportance importance(SkipImportance::Options{.every = 2, .threshold = 0.4});
  const auto large = normal(1000, 10, 1), small = normal(1000, 0.1F, 2);
  measure(importance, {large, small});
  EXPECT_EQ(importance.next(0), Next::Protect);
  int earlier = 0, measuring = 0;
  importance.started(0, &earlier);
  EXPECT_EQ(importance.next(0), Next::Measure);
  importance.started(0, &measuring);
  end(importance, 0, &earlier, small);
  EXPECT_EQ(importance.ready(0).code(), Code::Busy) << "the run that measures has not ended";
  end(importance, 0, &measuring, large);
  EXPECT_TRUE(importance.ready(0));
  EXPECT_EQ(importance.next(0), Next::Protect);
}

TEST(SkipImportance, RestoredItDecidesAsTheSavedOneAndDamageIsRefused) {
  const SkipImportance::Options options{.every = 4, .threshold = 0.3};
  SkipImportance first(options), second(options), other(SkipImportance::Options{.every = 5});
  measure(first, {normal(1000, 10, 1), normal(3000, 0.1F, 2), normal(50, 4, 3)});
  const auto saved = first.save();
  ASSERT_TRUE(second.restore(saved));
  for (std::uint64_t key : {0u, 1u, 2u}) EXPECT_EQ(first.next(key), second.next(key));
  EXPECT_EQ(first.save(), second.save());
  EXPECT_EQ(first.segments()[2].share, second.segments()[2].share);
  EXPECT_NE(std::string(other.restore(saved).message()).find("every 4"), std::string::npos);
  for (std::size_t bytes = 0; bytes < saved.size(); bytes += 8) {
    EXPECT_FALSE(second.restore(std::span(saved).first(bytes))) << bytes;
  }
  auto damaged = saved;
  damaged[0] ^= std::byte{1};
  EXPECT_FALSE(second.restore(damaged));
  EXPECT_EQ(first.save(), second.save());
}

TEST(SkipImportance, ASegmentExactlyAtTheThresholdIsNotImportant) {
  std::vector<float> half(8, 1), none(8, 1);
  for (std::size_t i = 0; i < 4; ++i) half[i] = 100;  // the largest quarter of all 16, and half of its segment
  for (const auto& [threshold, next] : {std::pair(0.5, Next::Skip), {0.4999, Next::Protect}}) {
    SkipImportance importance(SkipImportance::Options{.every = 10, .threshold = threshold});
    measure(importance, {half, none});
    EXPECT_EQ(importance.next(0), next) << threshold;
    EXPECT_EQ(importance.segments()[0].share, 0.5);
  }
}

TEST(SkipImportance, EachOptionMustBeThatOfTheSavedOne) {
  const SkipImportance::Options options{.every = 4, .threshold = 0.3, .samples = 100};
  SkipImportance first(options);
  measure(first, {normal(1000, 10, 1)});
  const auto saved = first.save();
  SkipImportance::Options every = options, threshold = options, samples = options;
  every.every = 5;
  threshold.threshold = 0.25;
  samples.samples = 101;
  for (const auto& [other, text] : {std::pair(every, "this one 5, 0.3, 100"),
                                    {threshold, "this one 4, 0.25, 100"},
                                    {samples, "this one 4, 0.3, 101"}}) {
    SkipImportance second(other);
    const Status refused = second.restore(saved);
    EXPECT_EQ(refused.code(), Code::InvalidArgument);
    EXPECT_NE(refused.message().find(text), std::string::npos) << refused.message();
    EXPECT_TRUE(second.segments().empty());
  }
  SkipImportance equal(options);
  EXPECT_TRUE(equal.restore(saved));
}

/// Ranks with a bucket of four segments; the second one's gradients are large.
struct AutomaticRig : SkipRig<float> {
  AutomaticRig() : SkipRig(4), states(4), importances(4) {
    for (auto& one : importances) one = std::make_unique<SkipImportance>(options);
  }

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
    call.options.method = lacuna::skip(
        {.steps = 2, .mode = SkipMode::Random, .small = 40, .segments = {std::begin(segments), std::end(segments)}});
    run(calls_with(call, [&](Call& one, Rank rank) {
      one.options.state = &states[static_cast<std::size_t>(rank)];
      skip_in(one)->importance = importances[static_cast<std::size_t>(rank)].get();
    }));
  }

  /// Are elements [begin, end) of the last result the sums of all ranks, but for rounding?
  bool is_dense(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      double sum = 0;
      for (const auto& input : inputs) sum += static_cast<double>(input[i]);
      if (std::fabs(static_cast<double>(outputs[1][i]) - sum) > 1e-4) return false;
    }
    return true;
  }

  const SkipImportance::Options options{.every = 5, .threshold = 0.5};
  const SkipSegment segments[4] = {{.offset = 0, .count = 200, .policy = SkipPolicy::Automatic, .key = 1},
                                   {.offset = 200, .count = 200, .policy = SkipPolicy::Automatic, .key = 2},
                                   {.offset = 400, .count = 5, .policy = SkipPolicy::Automatic, .key = 3},
                                   {.offset = 405, .count = 295, .policy = SkipPolicy::Automatic, .key = 4}};
  std::vector<MethodState> states;
  std::vector<std::unique_ptr<SkipImportance>> importances;
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
  const auto figures = rig.importances[0]->segments();
  ASSERT_EQ(figures.size(), 3u) << "small segments are not measured";
  EXPECT_GT(figures[1].share, 0.8);
  for (const auto& one : rig.importances) EXPECT_EQ(one->save(), rig.importances[0]->save());
}

TEST(SkipAutomatic, ARestoredJobRepeatsTheDecisions) {
  AutomaticRig first, second;
  for (unsigned run = 0; run < 8; ++run) first.run_once(run);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    second.states[rank] = first.states[rank];
    ASSERT_TRUE(second.importances[rank]->restore(first.importances[rank]->save()));
  }
  for (unsigned run = 8; run < 16; ++run) {
    first.run_once(run);
    second.run_once(run);
    EXPECT_EQ(first.outputs, second.outputs) << "run " << run;
  }
}

TEST(SkipAutomatic, ACallThatDependsOnAMeasurementUnderWayIsBusy) {
  AutomaticRig rig;
  rig.fill(700, 1);
  Call call{.collective = Collective::Allreduce};
  call.options.algorithm = "skip_ring";
  call.options.method =
      lacuna::skip({.steps = 1, .small = 40, .segments = {std::begin(rig.segments), std::end(rig.segments)}});
  const auto calls = rig.calls_with(call, [&](Call& one, Rank rank) {
    skip_in(one)->importance = rig.importances[static_cast<std::size_t>(rank)].get();
  });
  std::vector<runtime::Run*> runs;
  for (Rank rank = 0; rank < 4; ++rank) runs.push_back(*rig.ranks.post(rank, calls[static_cast<std::size_t>(rank)]));
  const auto early = rig.ranks.post(0, calls[0]);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.status().code(), Code::Busy);
  EXPECT_NE(early.status().message().find("wait for it first"), std::string::npos) << early.status().message();
  ASSERT_TRUE(rig.ranks.sweep_until(
      [&] { return std::all_of(runs.begin(), runs.end(), [](auto* run) { return run->finished; }); }));
  for (Rank rank = 0; rank < 4; ++rank) rig.ranks.communicator(rank).release(*runs[static_cast<std::size_t>(rank)]);
  rig.run(rig.calls_with(call, [&](Call& one, Rank rank) {
    skip_in(one)->importance = rig.importances[static_cast<std::size_t>(rank)].get();
  }));
}

}  // namespace
}  // namespace lacuna::test
