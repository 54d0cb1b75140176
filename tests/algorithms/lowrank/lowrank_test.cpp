#include "algorithms/lowrank/lowrank.hpp"

#include <cmath>

#include "algorithms/phases/predictions.hpp"
#include "tests/algorithms/method_rig.hpp"
#include "tests/support/oracle.hpp"

// Calls with the method lowrank: what is exact, how the error falls, what feedback brings back, and what is sent.
namespace lacuna::test {
namespace {

double normal(std::mt19937& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) * 0x1p-32 - 0.5;
  return sum;
}

/// Matrices of all ranks whose sum has this rank. Their own ranks are as large. Number k of the vectors is shorter by
/// the factor `fall`^k. The last row may be shorter.
template <class T>
ByRank<T> matrices(std::size_t ranks, std::size_t count, std::size_t columns, std::size_t rank, double fall = 1) {
  std::mt19937 random(static_cast<unsigned>(count + columns + rank));
  const std::size_t rows = (count + columns - 1) / columns;
  std::vector<std::vector<double>> right(rank, std::vector<double>(columns));
  for (auto& one : right) {
    for (double& value : one) value = normal(random);
  }
  ByRank<T> all(ranks, std::vector<T>(count));
  for (auto& own : all) {
    std::vector<double> sums(count);
    for (std::size_t k = 0; k < rank; ++k) {
      for (std::size_t i = 0; i < rows; ++i) {
        const double factor = normal(random) * std::pow(fall, static_cast<double>(k));
        for (std::size_t j = 0; j < columns && i * columns + j < count; ++j)
          sums[i * columns + j] += factor * right[k][j];
      }
    }
    std::transform(sums.begin(), sums.end(), own.begin(), [](double sum) { return static_cast<T>(sum); });
  }
  return all;
}

template <class T>
std::vector<double> exact_sum(const ByRank<T>& inputs) {
  std::vector<double> sum(inputs.front().size());
  for (const auto& input : inputs) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(input[i]);
  }
  return sum;
}

template <class T>
double relative_error(const std::vector<T>& got, const std::vector<double>& expected) {
  double off = 0, all = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    off += std::pow(static_cast<double>(got[i]) - expected[i], 2);
    all += expected[i] * expected[i];
  }
  return std::sqrt(off / all);
}

TEST(LowRank, ASumOfNoLargerRankIsExactUpToRounding) {
  for (Rank size = 1; size <= 9; ++size) {
    const auto ranks = static_cast<std::size_t>(size);
    for (int rank = 1; rank <= 4; ++rank) {
      const std::string options = fmt::format("lowrank:rank={}", rank);
      for (const auto& [count, columns] : {std::pair<std::size_t, std::size_t>{900, 0}, {1021, 37}, {1031, 20}}) {
        const std::size_t side = columns > 0 ? columns : 30;
        const std::string method = columns > 0 ? options + fmt::format(",columns={}", columns) : options;
        // The last row is cut, so that it is no combination of the vectors. It is whole where the sides fit.
        const auto inputs = matrices<double>(ranks, count / side * side, side, static_cast<std::size_t>(rank));
        const auto sum = exact_sum(inputs);
        for (bool in_place : {false, true}) {
          MethodRig rig(size, drawn_options(ranks));
          auto outputs = rig.run(inputs, inputs[0].size(), {.method = method, .in_place = in_place});
          EXPECT_LT(relative_error(outputs[0], sum), 1e-12) << method << " P=" << size;
          for (const auto& output : outputs) ASSERT_EQ(output, outputs[0]) << "ranks differ";
          outputs =
              rig.run(inputs, inputs[0].size(), {.method = method, .reduction = Reduction::Avg, .in_place = in_place});
          auto mean = sum;
          for (double& value : mean) value /= size;
          EXPECT_LT(relative_error(outputs[0], mean), 1e-11) << method << " P=" << size;
        }
      }
    }
  }
}

TEST(LowRank, OfF32IsExactUpToItsRounding) {
  MethodRig rig(4);
  const auto inputs = matrices<float>(4, 64 * 64, 64, 3);
  EXPECT_LT(relative_error(rig.run(inputs, "lowrank:rank=3")[2], exact_sum(inputs)), 1e-5);
}

TEST(LowRank, MoreVectorsAndMoreRunsHaveSmallerErrors) {
  constexpr std::size_t side = 60;
  const auto inputs = matrices<double>(3, side * side, side, 20, 0.6);
  const auto sum = exact_sum(inputs);
  double before = 1;
  for (int rank = 1; rank <= 4; ++rank) {
    MethodRig rig(3);
    const std::string method = fmt::format("lowrank:rank={},feedback=0", rank);
    const double first = relative_error(rig.run(inputs, method)[0], sum);
    double last = 0;
    for (int run = 0; run < 8; ++run) last = relative_error(rig.run(inputs, method)[0], sum);
    EXPECT_LT(last, first) << "the right factor of the last run is a better start";
    EXPECT_LT(last, 0.75 * before);
    EXPECT_NEAR(last, std::pow(0.6, rank), 0.3 * std::pow(0.6, rank)) << "the best of this rank leaves about this";
    before = last;
  }
}

/// A matrix of which the factors show only a part each time comes out right on average.
TEST(LowRank, FeedbackBringsBackWhatTheFactorsLack) {
  constexpr std::size_t side = 24;
  const auto inputs = matrices<double>(4, side * side, side, 12, 0.8);
  const auto sum = exact_sum(inputs);
  const auto error_of_mean = [&](const std::string& method) {
    MethodRig rig(4);
    std::vector<double> mean(sum.size());
    constexpr int runs = 200;
    for (int run = 0; run < runs; ++run) {
      const auto outputs = rig.run(inputs, method);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += outputs[0][i] / runs;
    }
    return relative_error(mean, sum);
  };
  EXPECT_LT(error_of_mean("lowrank:rank=1"), 0.1);
  EXPECT_GT(error_of_mean("lowrank:rank=1,feedback=0"), 0.5);
}

TEST(LowRank, FeedbackKeepsWhatTheFactorsLack) {
  for (const auto& [method, reduction] : {std::pair{"lowrank:rank=1", Reduction::Sum},
                                          {"lowrank:rank=3,columns=11", Reduction::Avg},
                                          {"lowrank:rank=2", Reduction::Avg}}) {
    for (Rank size : {1, 2, 3, 8}) {
      const auto ranks = static_cast<std::size_t>(size);
      constexpr std::size_t count = 509;
      MethodRig rig(size, drawn_options(3));
      std::vector<double> in(count), out(count);
      for (unsigned run = 0; run < 6; ++run) {
        const auto inputs = whole_inputs<double>(ranks, count, run);
        const auto outputs = rig.run(inputs, method, reduction);
        for (std::size_t i = 0; i < count; ++i) {
          for (const auto& input : inputs) in[i] += input[i];
          out[i] += (reduction == Reduction::Avg ? size : 1) * outputs[0][i];
        }
      }
      double largest_residual = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto residual = rig.residual<double>(rank);
        for (std::size_t i = 0; i < count; ++i) {
          out[i] += residual[i];
          largest_residual = std::max(largest_residual, std::fabs(residual[i]));
        }
      }
      EXPECT_GT(largest_residual, 1) << "the test must lose something";
      for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(out[i], in[i], 1e-10) << method << " " << i << " P=" << size;
    }
  }
}

TEST(LowRank, AllStatesHaveTheSameRightFactorAndSeedsMakeIt) {
  MethodRig rig(3), again(3), other(3);
  for (MethodState& state : other.states) state.sampler.seed = 9;
  const auto inputs = whole_inputs<double>(3, 400, 1);
  const auto first = rig.run(inputs, "lowrank:rank=2");
  EXPECT_EQ(again.run(inputs, "lowrank:rank=2"), first);
  EXPECT_NE(other.run(inputs, "lowrank:rank=2"), first);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto factor = rig.array<double>("right_factor", rank);
    EXPECT_EQ(factor.size(), 2u * 20);
    EXPECT_EQ(factor, rig.array<double>("right_factor", 0));
  }
}

/// A sum of small rank is exact up to rounding in each run, as far as the type holds it. Numbers near the least ones
/// have fewer bits.
TEST(LowRank, ServesAllFiniteNumbers) {
  const auto check = []<class T>(T, double size, double error) {
    auto inputs = matrices<T>(3, 32 * 32, 32, 2);
    for (auto& input : inputs) {
      for (T& value : input) value = static_cast<T>(static_cast<double>(value) * size);
    }
    std::vector<double> scaled(inputs[0].size());  // a norm of these numbers is a number
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      for (const auto& input : inputs) scaled[i] += static_cast<double>(input[i]) / size;
    }
    MethodRig rig(3);
    for (int run = 0; run < 4; ++run) {
      std::vector<double> got;
      const auto outputs = rig.run(inputs, "lowrank:rank=2,feedback=0");
      for (const T value : outputs[1]) got.push_back(static_cast<double>(value) / size);
      EXPECT_LT(relative_error(got, scaled), error) << size << ", run " << run;
    }
  };
  for (const double size : {1e37, 1e30, 1e18, 1.0, 1e-18, 1e-30, 1e-36}) check(float(), size, 1e-5);
  check(float(), 1e-41, 0.1);
  for (const double size : {1e306, 1e200, 1e-200, 1e-305}) check(double(), size, 1e-11);
  check(double(), 1e-319, 0.1);
}

/// Zeros have no vectors. After them, and after a NaN, the next run draws new ones.
TEST(LowRank, GoesOnAfterZerosAndAfterANan) {
  MethodRig rig(2);
  const auto inputs = matrices<double>(2, 400, 20, 1);
  const auto sum = exact_sum(inputs);
  const ByRank<double> zeros(2, std::vector<double>(400));
  EXPECT_EQ(rig.run(zeros, "lowrank:rank=2")[0], zeros[0]);
  EXPECT_LT(relative_error(rig.run(inputs, "lowrank:rank=2")[0], sum), 1e-12);
  auto broken = inputs;
  broken[1][7] = std::nan("");
  for (const auto& output : rig.run(broken, "lowrank:rank=2")) EXPECT_TRUE(std::isnan(output[7]));
  for (std::size_t rank : {0u, 1u}) {
    for (double value : rig.residual<double>(rank)) ASSERT_TRUE(std::isfinite(value));
  }
  EXPECT_LT(relative_error(rig.run(inputs, "lowrank:rank=2")[0], sum), 1e-12);
}

TEST(LowRank, SendsBothFactorsOrIfTheseAreNotShorterTheData) {
  for (Rank size = 1; size <= 9; ++size) {
    const auto ranks = static_cast<std::size_t>(size);
    for (const auto& [options, count, elements] : {std::tuple<const char*, std::size_t, std::size_t>{"rank=1", 900, 60},
                                                   {"rank=2", 901, 2 * (31 + 30)},
                                                   {"rank=4,columns=10", 1009, 4 * (10 + 101)},
                                                   {"rank=2", 16, 16},
                                                   {"rank=2", 17, 17},
                                                   {"rank=1", 9, 6},
                                                   {"rank=4,columns=3", 50, 50},
                                                   {"rank=1", 1, 1},
                                                   {"rank=1", 0, 0}}) {
      MethodRig rig(size);
      const std::string method = fmt::format("lowrank:{}", options);
      const auto inputs = whole_inputs<float>(ranks, count, 1);
      const auto outputs = rig.run(inputs, method);
      if (elements == count) {
        for (const auto& output : outputs) EXPECT_EQ(output, sum_of_ranks(inputs)) << method << " is dense";
      }
      EXPECT_EQ(rig.sent_by_all(), 2 * (ranks - 1) * elements * sizeof(float)) << method << " P=" << size;
      EXPECT_EQ(rig.reports[0].rounds, count == elements ? 2 * (size - 1) : 4 * (size - 1));
      MethodState state;
      Call call{.collective = Collective::Allreduce, .count = count};
      call.options.method = *method_options(method);
      call.options.state = &state;
      const MethodAlgorithm& row = lowrank_method.algorithms[0];
      Plan plan;
      make_plan({call, *row.algorithm, Hosts(size), 1 << 18}, plan);
      const PartPlan& part = plan.parts.front();
      EXPECT_EQ(row.rounds(part, size), rig.reports[0].rounds) << method << " P=" << size;
      EXPECT_DOUBLE_EQ(row.predictions->bytes({.call = call, .plan = part, .size = size, .places = 0, .entries = 0}),
                       static_cast<double>(rig.sent_by_all()) / size);
    }
  }
}

TEST(LowRank, RefusesWhatItCanNotDoAndSaysWhatIsAllowed) {
  Call call{.collective = Collective::Allreduce, .count = 100};
  EXPECT_EQ(refusal_of(call, "lowrank"),
            "invalid argument: lowrank needs a state, which keeps the right factor for the next run; give one");
  MethodState state;
  call.options.state = &state;
  EXPECT_EQ(refusal_of(call, "lowrank"), "");
  EXPECT_NE(refusal_of(call, "lowrank:rank=5").find("1 .. 4"), std::string::npos);
  call.dtype = Dtype::BF16;
  EXPECT_EQ(refusal_of(call, "lowrank"), "invalid argument: lowrank of bf16: the data must be of f32 or f64");
  call.dtype = Dtype::F64;
  call.reduction = Reduction::Max;
  EXPECT_EQ(refusal_of(call, "lowrank"),
            "invalid argument: lowrank approximates a sum of matrices: the reduction is max, must be sum or avg");
  call.reduction = Reduction::Sum;
  call.options.method = *method_options("lowrank:rank=2,feedback=0");
  state.array("right_factor", Dtype::F64, 20, false);
  EXPECT_TRUE(lowrank_method.ready(call, 3));
  call.options.method = *method_options("lowrank:rank=3,feedback=0");
  EXPECT_EQ(lowrank_method.ready(call, 3).to_string(),
            "invalid argument: the right_factor of this state has 20 elements of f64, this call needs 30 of f64: give "
            "each tensor a state of its own, and keep rank and columns");
}

}  // namespace
}  // namespace lacuna::test
