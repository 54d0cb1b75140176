#include <cmath>
#include <limits>

#include "kernels/elements.hpp"
#include "tests/algorithms/topk/sparse_rig.hpp"

// What clipping does with norms whose squares a type can't hold, and with inputs that have no norm.
namespace lacuna::test {
namespace {

constexpr std::array float_types = {Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16};

/// Numbers of one rank, rounded to the dtype.
using Numbers = std::vector<double>;

/// Returns the result of an allreduce by topk, with one input for each rank.
Numbers result_of(const std::vector<Numbers>& inputs, Dtype dtype, const std::string& options) {
  Ranks ranks(static_cast<Rank>(inputs.size()));
  std::vector<MethodState> states(inputs.size());
  const std::size_t count = inputs.front().size();
  Numbers result;
  kernels::with_floating_element(dtype, [&]<class T>(kernels::Element<T>) {
    std::vector<std::vector<T>> given(inputs.size(), std::vector<T>(count)), outputs = given;
    std::vector<Call> calls;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      for (std::size_t i = 0; i < count; ++i) {
        given[rank][i] = kernels::narrow<T>(static_cast<kernels::WideOf<T>>(inputs[rank][i]));
      }
      Call call{.collective = Collective::Allreduce,
                .input = given[rank].data(),
                .output = outputs[rank].data(),
                .count = count,
                .dtype = dtype};
      call.options.algorithm = "sparse_allgather";
      call.options.method = *method_options("topk:" + options);
      call.options.state = &states[rank];
      calls.push_back(call);
    }
    for (const Status& end : ranks.run(calls)) EXPECT_TRUE(end) << end.to_string();
    for (const T& value : outputs.front()) result.push_back(static_cast<double>(kernels::widen(value)));
  });
  return result;
}

/// One rank clips (3, 4) times `unit`, whose norm is 5 units, to `most`.
void expect_clipped(Dtype dtype, double unit, double most) {
  Numbers input(100);
  input[10] = 3 * unit;
  input[90] = -4 * unit;
  const Numbers result = result_of({input}, dtype, fmt::format("density=1,clip={:.17g}", most));
  const double rounding = dtype == Dtype::BF16 || dtype == Dtype::F16 ? 0.01 : 1e-6;
  EXPECT_NEAR(result[10] / (0.6 * most), 1, rounding) << to_string(dtype) << " of " << unit << " to " << most;
  EXPECT_NEAR(result[90] / (-0.8 * most), 1, rounding) << to_string(dtype) << " of " << unit << " to " << most;
  EXPECT_EQ(std::count(result.begin(), result.end(), 0.0), 98);
}

TEST(TopkClip, ANormWhoseSquareOverflowsIsScaledDown) {
  for (double unit : {1e200, 1e307, 4e307}) expect_clipped(Dtype::F64, unit, 1);
  for (Dtype dtype : {Dtype::F32, Dtype::BF16}) expect_clipped(dtype, 6e37, 1);
  expect_clipped(Dtype::F16, 12000, 1);
}

TEST(TopkClip, ANormWhoseSquareUnderflowsIsScaledDown) {
  for (double unit : {1e-170, 1e-200, 1e-300}) expect_clipped(Dtype::F64, unit, unit);
  for (Dtype dtype : {Dtype::F32, Dtype::BF16}) expect_clipped(dtype, 1e-30, 1e-31);
  expect_clipped(Dtype::F16, 0.001, 0.001);
}

TEST(TopkClip, AFactorThatIsBelowAllNumbersOfTheTypeStillScales) {
  expect_clipped(Dtype::F64, 1e300, 1e-250);
  for (Dtype dtype : {Dtype::F32, Dtype::BF16}) expect_clipped(dtype, 1e30, 1e-20);
}

/// The squares of many elements add up to more than any number holds, although a number holds each of them.
TEST(TopkClip, ASumOfSquaresThatOverflowsIsScaledDown) {
  constexpr std::size_t count = 4096;
  const Numbers result = result_of({Numbers(count, 1e154)}, Dtype::F64, "density=1,clip=64");
  for (double value : result) ASSERT_NEAR(value, 1, 1e-9);
}

TEST(TopkClip, AnInputThatIsNotFiniteIsTakenAsItIs) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (Dtype dtype : float_types) {
    for (double odd : {infinity, -infinity, std::nan("")}) {
      Numbers first(64, 30), second(64);
      first[7] = odd;
      second[9] = 40;  // it is clipped to the half of 8
      const Numbers result = result_of({first, second, Numbers(64), Numbers(64)}, dtype, "density=1,clip=8");
      EXPECT_EQ(std::isnan(result[7]), std::isnan(odd)) << to_string(dtype);
      EXPECT_TRUE(std::isnan(odd) || result[7] == odd) << to_string(dtype) << " " << result[7];
      EXPECT_EQ(result[9], 34) << to_string(dtype) << ": another rank's input is clipped";
      EXPECT_EQ(result[8], 30) << to_string(dtype);
    }
  }
}

TEST(TopkClip, WithinTheNormNothingChanges) {
  for (Dtype dtype : float_types) {
    Numbers input(10);
    input[1] = 3;
    input[5] = 4;
    EXPECT_EQ(result_of({input}, dtype, "density=1,clip=5"), input) << to_string(dtype);
  }
}

}  // namespace
}  // namespace lacuna::test
