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
