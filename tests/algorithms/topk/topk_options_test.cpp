#include <set>

#include "algorithms/phases/sparse.hpp"
#include "algorithms/topk/topk.hpp"
#include "tests/algorithms/topk/sparse_rig.hpp"
#include "tests/support/calls.hpp"

// What each option of topk means, and what is refused.
namespace lacuna::test {
namespace {

std::vector<float> array_of(const MethodState& state, std::string_view name) {
  const StateArray* array = state.find(name);
  std::vector<float> values(array ? array->count() : 0);
  if (array) std::memcpy(values.data(), array->bytes.data(), array->bytes.size());
  return values;
}

/// Makes one step of deep gradient compression, equations 4 and 5 and section 3.3. Returns what is sent.
std::vector<float> corrected(std::vector<float>& velocity, std::vector<float>& residual,
                             const std::vector<float>& input, float momentum, bool masks, std::size_t k) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    velocity[i] = momentum * velocity[i] + input[i];
    residual[i] += velocity[i];
  }
  const auto places = largest_places(residual, k);
  const std::vector<float> sent = only(residual, places);
  for (std::size_t place : places) {
    residual[place] = 0;
    if (masks) velocity[place] = 0;
  }
  return sent;
}

TEST(TopkOptions, MomentumFeedsAVelocityBackWhichIsMaskedWhereItWasSent) {
  for (bool masks : {true, false}) {
    SparseRig rig(3);
    Vectors velocity(3, std::vector<float>(60)), residual = velocity;
    for (unsigned run = 0; run < 5; ++run) {
      const Vectors inputs = sparse_inputs(Pattern::Full, 3, 60, run);
      Vectors sent;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        sent.push_back(corrected(velocity[rank], residual[rank], inputs[rank], 0.5f, masks, 6));
      }
      ASSERT_EQ(rig.run(inputs, "sparse_split", fmt::format("k=6,momentum=0.5,masking={}", masks ? 1 : 0)), "");
      for (std::size_t rank = 0; rank < 3; ++rank) {
        ASSERT_EQ(rig.outputs[rank], sum_of(sent)) << run;
        ASSERT_EQ(array_of(rig.states[rank], "velocity"), velocity[rank]) << run;
        ASSERT_EQ(rig.residual(rank), residual[rank]) << run;
      }
    }
  }
}

TEST(TopkOptions, ClippingScalesAnInputDownToTheNormOverTheRootOfTheRanks) {
  SparseRig rig(4);
  Vectors inputs(4, std::vector<float>(16));
  for (auto& input : inputs) input[3] = 30, input[4] = 40;  // a norm of 50
  inputs[2].assign(16, 0);
  inputs[2][5] = 8;                                                         // small enough as it is
  ASSERT_EQ(rig.run(inputs, "sparse_allgather", "density=1,clip=20"), "");  // 10 for each of 4 ranks
  std::vector<float> expected(16);
  expected[3] = 3 * 6;
  expected[4] = 3 * 8;
  expected[5] = 8;
  EXPECT_EQ(rig.outputs[0], expected);
}

TEST(TopkOptions, DensityFallsByTheSameFactorFromRunToRun) {
  SparseRig rig(2);
  const std::size_t expected[] = {250, 50, 10, 10, 10};  // of 1000: from 1/4 to 1/100 in two runs
  for (unsigned run = 0; run < 5; ++run) {
    const Vectors inputs = sparse_inputs(Pattern::Full, 2, 1000, run);
    ASSERT_EQ(rig.run(inputs, "sparse_allgather", "density=0.01,warm_up=2,warm_up_density=0.25"), "");
    const Vectors kept = {rig.residual(0), rig.residual(1)};
    for (const auto& residual : kept) {
      EXPECT_GE(static_cast<std::size_t>(std::count(residual.begin(), residual.end(), 0.0f)), expected[run]);
    }
    const auto there = 1000 - static_cast<std::size_t>(std::count(rig.outputs[0].begin(), rig.outputs[0].end(), 0.0f));
    EXPECT_LE(there, 2 * expected[run]) << run;
    EXPECT_GT(there, expected[run] / 2) << run;
  }
}

TEST(TopkOptions, AThresholdTakesAllThatIsAboveItAndNothingElse) {
  SparseRig rig(2);
  const Vectors inputs = {{1, -2, 3, -4, 5, 2.5f}, {0, 0, -2.5f, 2.5000002f, 0, -9}};
  ASSERT_EQ(rig.run(inputs, "sparse_allgather", "selection=threshold,threshold=2.5"), "");
  EXPECT_EQ(rig.outputs[1], (std::vector<float>{0, 0, 3, -4 + 2.5000002f, 5, -9}));
  EXPECT_EQ(rig.residual(0), (std::vector<float>{1, -2, 0, 0, 0, 2.5f}));
  EXPECT_EQ(rig.residual(1), (std::vector<float>{0, 0, -2.5f, 0, 0, 0}));
}

TEST(TopkOptions, ASampleSelectsAboutKAndNeverMoreThanAThirdMore) {
  SparseRig rig(2);
  for (unsigned run = 0; run < 6; ++run) {
    Vectors inputs(2, std::vector<float>(200000));
    std::mt19937 random(run);
    std::normal_distribution<float> normal;
    for (auto& input : inputs) {
      for (float& value : input) value = normal(random);
    }
    const Vectors before = {run ? rig.residual(0) : std::vector<float>(200000), {}};
    ASSERT_EQ(rig.run(inputs, "sparse_allgather", "k=40000,selection=sampled,samples=1024"), "");
    const auto residual = rig.residual(0);
    std::size_t sent = 0;
    for (std::size_t i = 0; i < 200000; ++i) sent += residual[i] == 0 && before[0][i] + inputs[0][i] != 0;
    EXPECT_NE(sent, 40000u) << run << ": a sample tells about as many";
    EXPECT_GT(sent, 40000u * 2 / 3) << run;
    EXPECT_LE(sent, 40000u * 4 / 3) << run;
  }
}

/// Returns the places that mean, deviation and steps of a threshold select. By a table of the normal distribution 1 %
/// of it lies beyond 2.5758 deviations.
std::vector<std::size_t> gaussian_places(const std::vector<float>& values, std::size_t k, int steps, double step) {
  double sum = 0, squares = 0;
  for (float value : values) sum += value, squares += double{value} * value;
  const double count = static_cast<double>(values.size()), mean = sum / count;
  double threshold = std::abs(mean) + 2.5758293035489 * std::sqrt(squares / count - mean * mean);
  std::vector<std::size_t> places;
  for (int i = 0;; ++i) {
    places.clear();
    for (std::size_t place = 0; place < values.size(); ++place) {
      if (std::abs(values[place]) > threshold) places.push_back(place);
    }
    const bool few = 3 * places.size()<2 * k, many = 3 * places.size()> 4 * k;
    if (i == steps || (!few && !many)) return places;
    threshold *= few ? 1 - step : 1 + step;
  }
}

/// The largest of 64 samples stands for k. Often there is no room for all elements above it; then the k largest are
/// taken. Two ranks have the same values, so the result has twice the values that both have taken.
TEST(TopkOptions, ASampleThatTakesTooMuchCountsForNothingAndEachIsDrawnAnew) {
  constexpr std::size_t k = 100;
  std::vector<float> values(10000);
  std::iota(values.begin(), values.end(), 1.0f);
  std::shuffle(values.begin(), values.end(), std::mt19937(1));
  SparseRig rig(2);
  std::set<std::size_t> most;
  int unlike = 0, exactly = 0;
  for (int run = 0; run < 30; ++run) {
    ASSERT_EQ(rig.run({values, values}, "sparse_allgather", "k=100,selection=sampled,samples=64,feedback=0"), "");
    std::array<std::size_t, 2> taken{};  // taken by at least one rank, taken by both
    for (std::size_t i = 0; i < values.size(); ++i) {
      taken[0] += rig.outputs[0][i] != 0;
      taken[1] += rig.outputs[0][i] == 2 * values[i];
    }
    ASSERT_LE(taken[0], k + k / 3);
    ASSERT_EQ(rig.outputs[0],
              sum_of({only(values, largest_places(values, taken[0])), only(values, largest_places(values, taken[1]))}))
        << run;
    most.insert(taken[0]);
    unlike += taken[0] != taken[1];
    exactly += taken[0] == k || taken[1] == k;
  }
  EXPECT_GT(most.size(), 5u);
  EXPECT_GT(unlike, 10);
  EXPECT_GT(exactly, 5);
}

TEST(TopkOptions, ADensityIsRoundedAndTakesAtLeastOneElement) {
  const Vectors inputs = sparse_inputs(Pattern::Full, 1, 100, 1);
  for (const auto& [density, entries] : {std::pair("0.015", 2u), {"0.0149", 1u}, {"0.001", 1u}, {"0.996", 100u}}) {
    SparseRig rig(1);
    ASSERT_EQ(rig.run(inputs, "sparse_allgather", fmt::format("density={}", density)), "");
    EXPECT_EQ(rig.outputs[0], only(inputs[0], largest_places(inputs[0], entries))) << density;
  }
}

TEST(TopkOptions, AGaussianThresholdMovesByItsStepsUntilItTakesAboutK) {
  constexpr std::size_t count = 20000, k = count / 100;
  std::set<std::size_t> taken;
  for (const auto& [steps, step] : {std::pair(0, 0.5), std::pair(3, 0.5), std::pair(20, 0.02)}) {
    for (double exponent : {1.0, 3.0}) {  // distributions with longer tails
      SparseRig rig(2);
      Vectors inputs(2, std::vector<float>(count)), residuals = inputs;
      std::mt19937 random(3);
      std::normal_distribution<double> normal;
      for (unsigned run = 0; run < 3; ++run) {
        Vectors sent;
        for (std::size_t rank = 0; rank < 2; ++rank) {
          for (float& value : inputs[rank]) {
            const double drawn = normal(random);
            value = static_cast<float>(std::round(1000 * std::copysign(std::pow(std::abs(drawn), exponent), drawn)));
          }
          residuals[rank] = sum_of({residuals[rank], inputs[rank]});
          const auto places = gaussian_places(residuals[rank], k, steps, step);
          taken.insert(places.size());
          sent.push_back(only(residuals[rank], places));
          for (std::size_t place : places) residuals[rank][place] = 0;
        }
        const std::string options = fmt::format("density=0.01,selection=gaussian,steps={},step={}", steps, step);
        ASSERT_EQ(rig.run(inputs, "sparse_split", options), "");
        EXPECT_EQ(rig.outputs[0], sum_of(sent)) << options << " exponent " << exponent << " run " << run;
        for (std::size_t rank = 0; rank < 2; ++rank) EXPECT_EQ(rig.residual(rank), residuals[rank]) << options;
      }
    }
  }
  EXPECT_GT(taken.size(), 10u);
  EXPECT_GT(*taken.rbegin(), 2 * *taken.begin()) << "without steps, tails are mistaken";
}

TEST(TopkOptions, AGaussianThresholdTakesAsManyAroundAnyMeanAndAllWhereAllAreAskedFor) {
  for (float middle : {-5.0f, 5.0f}) {
    SparseRig rig(1);
    Vectors inputs(1, std::vector<float>(20000));
    std::mt19937 random(1);
    std::normal_distribution<float> normal(middle, 1);
    for (float& value : inputs[0]) value = normal(random);
    ASSERT_EQ(rig.run(inputs, "sparse_ring", "density=0.01,selection=gaussian,steps=20,step=0.02"), "");
    const auto sent = 20000 - static_cast<std::size_t>(std::count(rig.outputs[0].begin(), rig.outputs[0].end(), 0.0f));
    EXPECT_GT(sent, 200u * 2 / 3) << middle;
    EXPECT_LE(sent, 200u * 4 / 3) << middle;
    ASSERT_EQ(rig.run(inputs, "sparse_ring", "density=1,selection=gaussian,feedback=0"), "");
    EXPECT_EQ(rig.outputs, inputs);
  }
}

TEST(TopkOptions, AGaussianThresholdOfWhatIsNotFiniteTakesTheKLargest) {
  for (float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    SparseRig rig(2);
    Vectors inputs = sparse_inputs(Pattern::Full, 2, 100, 1);
    inputs[1][40] = value;
    ASSERT_EQ(rig.run(inputs, "sparse_allgather", "k=3,selection=gaussian"), "");
    EXPECT_EQ(std::isnan(rig.outputs[0][40]), std::isnan(value));
    EXPECT_FALSE(std::isfinite(rig.outputs[0][40]));
    EXPECT_EQ(rig.residual(1)[40], 0);
  }
}

TEST(TopkOptions, WhatACappedRingDropsIsSentInLaterRuns) {
  for (const char* selection : {"exact", "sampled"}) {
    SparseRig rig(4);
    const Vectors inputs(4, std::vector<float>(96, 1));
    std::vector<float> all(96);
    for (int run = 0; run < 40; ++run) {
      const std::string options = fmt::format("k=24,capped=1,selection={}", selection);
      ASSERT_EQ(rig.run(run == 0 ? inputs : Vectors(4, std::vector<float>(96)), "sparse_ring", options), "");
      all = sum_of({all, rig.outputs[0]});
    }
    EXPECT_EQ(all, std::vector<float>(96, 4)) << selection << ": some places are never sent";
  }
}

TEST(TopkOptions, SumsInAnyFormatHaveRoomWhereTheyArrive) {
  for (const char* format : {"coordinates", "local16", "bitmap", "dense", "shortest"}) {
    for (const char* algorithm : {"sparse_allgather", "sparse_split", "sparse_ring", "sparse_doubling", "gtopk"}) {
      for (Rank size : {3, 6, 8}) {
        SparseRig rig(size);
        Vectors inputs(rig.states.size(), std::vector<float>(3000));
        for (std::size_t i = 0; i < 3000; ++i) inputs[i % inputs.size()][i] = static_cast<float>(i % 50 + 1);
        const std::string options = fmt::format("k={},format={}", 3000 / inputs.size(), format);
        ASSERT_EQ(rig.run(inputs, algorithm, options), "") << algorithm << " " << format << " P=" << size;
        if (algorithm == std::string("gtopk")) continue;
        EXPECT_EQ(rig.outputs[1], sum_of(inputs)) << algorithm << " " << format;
      }
    }
  }
}

TEST(TopkOptions, ReportsCountWhatWasAskedSelectedKeptAndCameOut) {
  for (const char* algorithm : sparse_allreduces) {
    SparseRig rig(2);
    const Vectors inputs = {{5, -4, 3, 0, 0, 0, 0, 0}, {5, 0, 0, 0, 0, 0, 1, 7}};
    std::vector<Call> calls;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      rig.outputs[rank].assign(8, 0);
      Call call{.collective = Collective::Allreduce,
                .input = inputs[rank].data(),
                .output = rig.outputs[rank].data(),
                .count = 8};
      call.options.algorithm = algorithm;
      call.options.method = *method_options("topk:k=2");
      call.options.state = &rig.states[rank];
      calls.push_back(call);
    }
    std::vector<runtime::Run*> runs;
    for (Rank rank = 0; rank < 2; ++rank) runs.push_back(*rig.ranks.post(rank, calls[static_cast<std::size_t>(rank)]));
    ASSERT_TRUE(rig.ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
    const Report report = rig.ranks.communicator(0).report(*runs[0]);
    EXPECT_EQ(test::whole(report.measures, sparse::measure::selected), 2u) << algorithm;
    EXPECT_EQ(test::whole(report.measures, sparse::measure::contributed), 2u);
    EXPECT_EQ(test::whole(report.measures, sparse::measure::left), 6u);
    EXPECT_EQ(report.measures.value("entries_asked"), 2) << "asked";
    EXPECT_EQ(report.measures.value("entries_result"), 3) << algorithm << ": places 0, 1 and 7";
    EXPECT_GT(report.dense_sent, 0u);
    for (Rank rank = 0; rank < 2; ++rank) {
      EXPECT_TRUE(rig.ranks.communicator(rank).finish(*runs[static_cast<std::size_t>(rank)]));
    }
  }
}

TEST(TopkOptions, ReportsOfEntriesWithoutFeedbackCountWhatIsLetGo) {
  SparseRig rig(1);
  const std::vector<std::uint32_t> places = {4, 1, 6, 0};
  const std::vector<float> values = {5, -4, 3, 2};
  rig.outputs[0].assign(8, 0);
  Call call{.collective = Collective::Allreduce, .input = values.data(), .output = rig.outputs[0].data(), .count = 8};
  call.input_entries = {places.data(), places.size()};
  call.options.algorithm = "sparse_allgather";
  call.options.method = *method_options("topk:k=3,feedback=0");
  runtime::Run& run = must_post(rig.ranks, 0, call);
  ASSERT_TRUE(rig.ranks.sweep_until([&] { return run.finished; }));
  const Report report = rig.ranks.communicator(0).report(run);
  EXPECT_EQ(test::whole(report.measures, sparse::measure::selected), 3u);
  EXPECT_EQ(test::whole(report.measures, sparse::measure::contributed), 3u);
  EXPECT_EQ(test::whole(report.measures, sparse::measure::left), 1u);
  EXPECT_EQ(rig.outputs[0], (std::vector<float>{0, -4, 0, 0, 5, 0, 3, 0}));
}

/// Returns why a call of one rank is refused.
std::string refusal(const std::string& options, Dtype dtype = Dtype::F32, Reduction reduction = Reduction::Sum,
                    bool state = true, const char* algorithm = "") {
  const auto method = method_options("topk:" + options);
  if (!method) return std::string(method.status().message());
  MethodState kept;
  Call call{.collective = Collective::Allreduce, .count = 10, .dtype = dtype, .reduction = reduction};
  call.options.algorithm = algorithm;
  call.options.method = *method;
  if (state) call.options.state = &kept;
  const auto found = select_algorithm(call, 4);
  return found ? "" : std::string(found.status().message());
}

TEST(TopkOptions, WhatCanNotBeIsRefusedWithWhatIsAllowed) {
  EXPECT_EQ(refusal(""), "");
  EXPECT_NE(refusal("", Dtype::I32).find("floating point"), std::string::npos);
  EXPECT_NE(refusal("", Dtype::F32, Reduction::Max).find("must be sum or avg"), std::string::npos);
  EXPECT_NE(refusal("", Dtype::F32, Reduction::Sum, false).find("needs a state"), std::string::npos);
  EXPECT_NE(refusal("feedback=0,warm_up=3", Dtype::F32, Reduction::Sum, false).find("needs a state"),
            std::string::npos);
  EXPECT_NE(refusal("density=0").find("one of them must"), std::string::npos);
  EXPECT_NE(refusal("density=1.5").find("0 .. 1"), std::string::npos);
  EXPECT_NE(refusal("feedback=0,momentum=0.5").find("needs feedback=1"), std::string::npos);
  EXPECT_NE(refusal("feedback=0,clip=5").find("needs feedback=1"), std::string::npos);
  EXPECT_NE(refusal("selection=threshold,warm_up=3").find("warm_up"), std::string::npos);
  EXPECT_EQ(refusal("capped=1"), "") << "lacuna chooses the one that can";
  EXPECT_NE(refusal("capped=1", Dtype::F32, Reduction::Sum, true, "sparse_split").find("only sparse_ring"),
            std::string::npos);
  const auto ring = [](const char* options) {
    return refusal(options, Dtype::F32, Reduction::Sum, true, "sparse_ring");
  };
  EXPECT_EQ(ring("capped=1"), "");
  EXPECT_NE(ring("capped=1,feedback=0").find("needs feedback=1"), std::string::npos);
  EXPECT_NE(ring("capped=1,selection=threshold").find("exact or sampled"), std::string::npos);
  EXPECT_NE(ring("chunks=0").find("1 .. 64"), std::string::npos);
}

TEST(TopkOptions, MoreElementsThanPlacesHaveBitsForAreRefused) {
  MethodState state;
  Call call{.collective = Collective::Allreduce, .count = std::size_t{1} << 32};
  call.options.method = *method_options("topk:");
  call.options.state = &state;
  const auto found = select_algorithm(call, 2);
  ASSERT_FALSE(found);
  EXPECT_NE(found.status().message().find("4294967295"), std::string_view::npos) << found.status().to_string();
  call.count -= 1;
  EXPECT_TRUE(select_algorithm(call, 2));
  call.collective = Collective::Allgather;
  EXPECT_TRUE(select_algorithm(call, 2)) << "of a dense output no places are told";
  std::uint32_t place = 0;
  call.output_entries.places = &place;
  EXPECT_FALSE(select_algorithm(call, 2));
}

}  // namespace
}  // namespace lacuna::test
