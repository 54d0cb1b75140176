#include "tests/algorithms/topk/sparse_rig.hpp"

// A selection that is asked for some elements takes at least one, unless all are zero.
namespace lacuna::test {
namespace {

std::size_t entries_of(const std::vector<float>& values) {
  return values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0f));
}

const std::vector<std::string> selections = {"selection=exact",
                                             "selection=sampled,samples=64",
                                             "selection=sampled,samples=64,feedback=0",
                                             "selection=sampled",
                                             "selection=gaussian",
                                             "selection=gaussian,steps=0",
                                             "selection=gaussian,steps=20,step=0.02",
                                             "selection=gaussian,steps=1,step=0.9"};

TEST(TopkPromise, OfEqualMagnitudesSomeAreTakenInEveryRun) {
  for (const std::string& selection : selections) {
    for (std::size_t count : {1u, 50u, 1000u, 7000u}) {
      SparseRig rig(2);
      Vectors inputs(2, std::vector<float>(count, 3));
      for (std::size_t i = 0; i < count; ++i) inputs[1][i] = i % 3 == 0 ? -5.0f : 5.0f;
      for (int run = 0; run < 40; ++run) {
        ASSERT_EQ(rig.run(inputs, "sparse_allgather", "density=0.01," + selection), "");
        ASSERT_GE(entries_of(rig.outputs[0]), 1u) << selection << " of " << count << " in run " << run;
      }
    }
  }
}

TEST(TopkPromise, ASingleElementThatIsNotZeroIsTaken) {
  for (const std::string& selection : selections) {
    for (std::size_t count : {3u, 1000u, 20000u}) {
      SparseRig rig(1);
      Vectors inputs(1, std::vector<float>(count));
      inputs[0][count / 2] = 1e-30f;
      ASSERT_EQ(rig.run(inputs, "sparse_allgather", "density=0.001," + selection), "");
      EXPECT_EQ(rig.outputs, inputs) << selection << " of " << count;
    }
  }
}

TEST(TopkPromise, OfZerosNothingIsTaken) {
  for (const std::string& selection : selections) {
    SparseRig rig(2);
    const Vectors inputs(2, std::vector<float>(3000));
    ASSERT_EQ(rig.run(inputs, "sparse_allgather", "density=0.01," + selection), "");
    EXPECT_EQ(rig.outputs, inputs) << selection;
  }
}

/// A sample of such an array would cost more than looking at the whole array, and tell less.
TEST(TopkPromise, AnArrayThatIsShortBesideTheSampleIsSelectedFromExactly) {
  for (std::size_t count : {100u, 60000u, 200000u}) {
    SparseRig rig(1);
    const Vectors inputs = any_numbers(1, count, 3);
    const auto exactly = largest_places(inputs[0], count / 100);
    ASSERT_EQ(rig.run(inputs, "sparse_allgather", "density=0.01,selection=sampled,feedback=0"), "");
    EXPECT_EQ(rig.outputs[0], only(inputs[0], exactly)) << count;
  }
}

/// The squares of these numbers are no numbers of the type.
TEST(TopkPromise, AGaussianThresholdOfTinyOrHugeNumbersTakesAboutK) {
  constexpr std::size_t count = 20000, k = 200;
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  for (double unit : {1e-200, 1.0, 1e200}) {
    Ranks ranks(1);
    MethodState state;
    std::vector<double> input(count), output(count);
    for (double& value : input) value = unit * normal(random);
    Call call{.collective = Collective::Allreduce,
              .input = input.data(),
              .output = output.data(),
              .count = count,
              .dtype = Dtype::F64};
    call.options.algorithm = "sparse_allgather";
    call.options.method = *method_options("topk:k=200,selection=gaussian,feedback=0");
    call.options.state = &state;
    for (const Status& end : ranks.run({call})) ASSERT_TRUE(end) << end.to_string();
    const auto taken = count - static_cast<std::size_t>(std::count(output.begin(), output.end(), 0.0));
    EXPECT_GT(3 * taken, 2 * k) << unit;
    EXPECT_LT(3 * taken, 4 * k) << unit;
  }
}

}  // namespace
}  // namespace lacuna::test
