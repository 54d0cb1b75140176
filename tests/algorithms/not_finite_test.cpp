#include "algorithms/phases/not_finite.hpp"

#include <limits>

#include "tests/algorithms/method_rig.hpp"

// One bad batch on one rank. Each sparse method has room for a hundredth of it.
namespace lacuna::test {
namespace {

constexpr std::size_t count = 10'000;
constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

std::ptrdiff_t not_finite_in(const std::vector<float>& numbers) {
  return std::count_if(numbers.begin(), numbers.end(), [](float one) { return !std::isfinite(one); });
}

struct Drops {
  const char* method;
  double elements;  ///< that the rank with the bad batch neither contributes nor keeps; of skip a third of each part
};
class NotFinite : public testing::TestWithParam<Drops> {};

TEST_P(NotFinite, IsToldByItsCallAndCountedWhereItIsDropped) {
  for (const float bad : {nan, infinity}) {
    MethodRig rig(3);
    const ByRank<float> ones(3, std::vector<float>(count, 1));
    ByRank<float> inputs = ones;
    inputs[1].assign(count, bad);
    for (const std::vector<float>& output : rig.run(inputs, GetParam().method)) EXPECT_GT(not_finite_in(output), 0);
    EXPECT_EQ(rig.measure(dropped_elements.name, 0), 0);
    EXPECT_EQ(rig.measure(dropped_elements.name, 1), GetParam().elements);
    for (int call = 0; call < 3; ++call) {
      for (const std::vector<float>& output : rig.run(ones, GetParam().method)) EXPECT_EQ(not_finite_in(output), 0);
      EXPECT_EQ(rig.measure(dropped_elements.name, 1), 0);
    }
  }
}

constexpr Drops all[] = {{"topk:density=0.01", 9900},
                         {"topk:density=0.01,momentum=0.9,masking=0", 9900},
                         {"topk:density=0.01,selection=threshold,threshold=1e300", 0},
                         {"ok_topk:density=0.01", 9900},
                         {"ok_topk:density=0.01,momentum=0.9", 9900},
                         {"skip:steps=1,feedback=1", 3328},
                         {"cast:to=bf16,feedback=1", 0},
                         {"quantize:bits=4", 0}};

INSTANTIATE_TEST_SUITE_P(, NotFinite, testing::ValuesIn(all),
                         [](const auto& one) { return "of" + std::to_string(one.index); });

/// Is the call told by all ranks, and do no state and no later call have anything of it?
void expect_told(MethodRig& rig, const ByRank<float>& inputs, const MethodCall& how) {
  const std::size_t elements = inputs.front().size();
  for (const auto& output : rig.run(inputs, elements, how)) EXPECT_GT(not_finite_in(output), 0) << how.method;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    EXPECT_EQ(not_finite_in(rig.residual<float>(rank)), 0) << how.method << " " << rank;
  }
  const ByRank<float> zeros(inputs.size(), std::vector<float>(elements));
  for (const auto& output : rig.run(zeros, elements, how)) EXPECT_EQ(not_finite_in(output), 0) << how.method;
}

// The first call makes thresholds, and ranges that begin at the places 0, 54 and 57.
TEST(NotFiniteElements, AreToldHoweverManyElementsAreLarge) {
  constexpr std::size_t elements = 60;
  std::vector<float> rising(elements);
  for (std::size_t i = 0; i < elements; ++i) rising[i] = 1 + static_cast<float>(i) / 64;
  for (const char* method : {"ok_topk:k=9", "topk:k=9", "topk:k=9,capped=1"}) {
    for (std::size_t large = 0; large < elements; ++large) {
      for (const std::size_t at : {0u, 30u, 55u, 58u}) {
        MethodRig rig(3);
        rig.run(ByRank<float>(3, rising), method);
        ByRank<float> inputs(3, std::vector<float>(elements));
        for (std::size_t i = 1; i <= large; ++i) inputs[1][(at + i) % elements] = 100;
        inputs[1][at] = nan;
        expect_told(rig, inputs, {.method = method});
      }
    }
  }
}

/// Rank 0 sends its largest element, and keeps that of place 1. To this the element is added that rank 1 has sent.
TEST(NotFiniteSums, AreToldWhenWhatIsDroppedIsTooLargeForTheResidual) {
  for (const MethodCall& capping :
       {MethodCall{.method = "topk:k=2,capped=1"}, MethodCall{.method = "topk:k=2", .algorithm = "gtopk"}}) {
    for (const Reduction reduction : {Reduction::Sum, Reduction::Avg}) {
      MethodRig rig(2);
      MethodCall how = capping;
      how.reduction = reduction;
      expect_told(rig, {{3e38f, 2e38f, 3e38f, 0}, {0, 2.5e38f, 0, 0}}, how);
      EXPECT_EQ(rig.measure(dropped_elements.name, 0), 0) << "the next call drops nothing";
    }
  }
}

TEST(NotFiniteSums, AreDroppedByTheRankThatCapsIt) {
  MethodRig rig(3);
  const ByRank<float> ones(3, std::vector<float>(count, 1));
  ByRank<float> inputs = ones;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    std::fill_n(inputs[rank].begin() + static_cast<std::ptrdiff_t>(rank * 1000), 1000, nan);
  }
  const std::string method = "topk:density=0.01,capped=1";
  for (const std::vector<float>& output : rig.run(inputs, method)) EXPECT_GT(not_finite_in(output), 0);
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(not_finite_in(rig.residual<float>(rank)), 0) << rank;
  for (const std::vector<float>& output : rig.run(ones, method)) EXPECT_EQ(not_finite_in(output), 0);
}

TEST(NotFiniteElements, AreCountedAlsoWhereTheyAreMoreThanOneListHolds) {
  constexpr std::size_t many = 150'000;
  MethodRig rig(2);
  ByRank<float> inputs(2, std::vector<float>(many, 1));
  inputs[1].assign(many, nan);
  rig.run(inputs, "topk:density=0.01");
  EXPECT_EQ(rig.measure(dropped_elements.name, 1), many - many / 100);
}

}  // namespace
}  // namespace lacuna::test
