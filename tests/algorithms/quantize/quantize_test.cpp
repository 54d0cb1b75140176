#include "algorithms/quantize/quantize.hpp"

#include <cmath>

#include "algorithms/phases/predictions.hpp"
#include "tests/algorithms/method_rig.hpp"
#include "tests/support/oracle.hpp"

// Calls with the method quantize: what is exact, how large errors are, what feedback brings back, and what is sent.
namespace lacuna::test {
namespace {

std::vector<std::size_t> counts(std::size_t ranks) { return {0, 1, ranks - 1, ranks, ranks + 1, 17, 257, 1031}; }

/// The length of a message of so many elements.
std::size_t message_bytes(std::size_t elements, std::size_t bits, std::size_t block) {
  return (elements + block - 1) / block + (bits == 8 ? elements : (elements + 1) / 2);
}

/// Numbers that bits can not hold, of about the same magnitude.
template <class T>
ByRank<T> fractions(std::size_t ranks, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  ByRank<T> all(ranks, std::vector<T>(count));
  for (auto& one : all) {
    for (T& value : one) value = static_cast<T>(static_cast<double>(random()) * 0x1p-31 - 1);
  }
  return all;
}

TEST(Quantize, WholeNumbersInRangeLoseNothing) {
  for (Rank size = 1; size <= 9; ++size) {
    const auto ranks = static_cast<std::size_t>(size);
    MethodRig rig(size, drawn_options(ranks));
    for (std::size_t count : counts(ranks)) {
      const auto inputs = whole_inputs<float>(ranks, count, 3, 14);  // 9 x 14 < 128
      const auto doubles = whole_inputs<double>(ranks, count, 4, 14);
      for (bool in_place : {false, true}) {
        for (const char* method : {"quantize:feedback=0", "quantize:block=4,feedback=0"}) {
          for (const auto& output : rig.run(inputs, count, {.method = method, .in_place = in_place})) {
            ASSERT_EQ(output, sum_of_ranks(inputs)) << method << " P=" << size << " count " << count;
          }
          for (const auto& output : rig.run(doubles, count, {.method = method, .in_place = in_place})) {
            ASSERT_EQ(output, sum_of_ranks(doubles)) << method << " P=" << size << " count " << count;
          }
        }
      }
    }
  }
}

TEST(Quantize, AReduceScatterRoundsNoTermsThatAreSmallWholeNumbers) {
  constexpr std::size_t count = 37;
  for (Rank size = 1; size <= 9; ++size) {
    const auto ranks = static_cast<std::size_t>(size);
    MethodRig rig(size, drawn_options(5));
    const auto inputs = whole_inputs<float>(ranks, ranks * count, 7);  // of 4 bits; sums need more
    const auto sum = sum_of_ranks(inputs);
    for (bool in_place : {false, true}) {
      const auto outputs =
          rig.run(inputs, count,
                  {.method = "quantize:bits=4,block=8", .collective = Collective::ReduceScatter, .in_place = in_place});
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto begin = sum.begin() + static_cast<std::ptrdiff_t>(rank * count);
        ASSERT_EQ(outputs[rank], std::vector<float>(begin, begin + count)) << "rank " << rank << " of " << size;
      }
    }
  }
}

TEST(Quantize, WhatIsGatheredHasTheSameBitsOnAllRanks) {
  constexpr std::size_t count = 41;
  for (Rank size = 1; size <= 9; ++size) {
    const auto ranks = static_cast<std::size_t>(size);
    MethodRig rig(size, drawn_options(6));
    const auto inputs = fractions<float>(ranks, count, 8);
    for (bool in_place : {false, true}) {
      const auto outputs = rig.run(
          inputs, count, {.method = "quantize:feedback=0", .collective = Collective::Allgather, .in_place = in_place});
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        ASSERT_EQ(outputs[rank], outputs[0]);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_LT(std::fabs(outputs[0][rank * count + i] - inputs[rank][i]), 1.0f / 64);
        }
      }
    }
  }
}

/// A term is off by less than its spacing, and the result by less than its own. A spacing is less than two of the
/// largest magnitude over the most levels.
TEST(Quantize, ASumIsOffByLessThanAllSpacings) {
  for (const auto& [bits, most] : {std::pair{8, 127.0}, {4, 7.0}}) {
    for (Rank size : {1, 2, 5, 8}) {
      const auto ranks = static_cast<std::size_t>(size);
      MethodRig rig(size, drawn_options(2));
      const auto inputs = fractions<float>(ranks, 1031, 9);
      const auto outputs = rig.run(inputs, fmt::format("quantize:bits={},feedback=0", bits));
      const double of_terms = (size - 1) * 2 / most, of_result = 2 * (size + of_terms) / most;
      const auto sum = sum_of_ranks(ByRank<double>{[&] {
        ByRank<double> all;
        for (const auto& input : inputs) all.emplace_back(input.begin(), input.end());
        return all;
      }()});
      double largest = 0;
      for (std::size_t i = 0; i < sum.size(); ++i) {
        const double off = std::fabs(static_cast<double>(outputs[0][i]) - sum[i]);
        ASSERT_LT(off, of_terms + of_result) << i;
        largest = std::max(largest, off);
      }
      EXPECT_GT(largest, 1 / most / 8) << "the test must lose something";
      for (const auto& output : outputs) ASSERT_EQ(output, outputs[0]);
    }
  }
}

/// Without feedback the mean over many runs is the sum itself: the error of the mean falls as it must.
TEST(Quantize, ManyRunsHaveTheRightMean) {
  constexpr Rank size = 4;
  constexpr std::size_t count = 257;
  constexpr int runs = 2000;
  MethodRig rig(size);
  const auto inputs = fractions<double>(size, count, 10);
  std::vector<double> mean(count);
  for (int run = 0; run < runs; ++run) {
    const auto outputs = rig.run(inputs, "quantize:bits=4,feedback=0", Reduction::Avg);
    for (std::size_t i = 0; i < count; ++i) mean[i] += outputs[2][i] / runs;
  }
  const auto sum = sum_of_ranks(inputs);
  double squares = 0, bias = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double off = mean[i] - sum[i] / size;
    EXPECT_LT(std::fabs(off), 5 * 0.25 / std::sqrt(runs)) << i;  // no run is off by a deviation of more than 1/4
    squares += off * off / count;
    bias += off / count;
  }
  EXPECT_LT(std::sqrt(squares), 0.2 / std::sqrt(runs));
  EXPECT_LT(std::fabs(bias), 5 * 0.2 / std::sqrt(runs * count));
}

/// Ranks with the same input, and pieces and parts with the same elements, round in ways of their own: errors of the
/// terms add up as those of independent draws do.
TEST(Quantize, RoundingsOfRanksPiecesAndRunsAreIndependent) {
  constexpr Rank size = 8;
  constexpr std::size_t count = 4096;
  MethodRig rig(size);
  const ByRank<double> inputs(size, std::vector<double>(count, 1 + 1.0 / 128));  // 64.5 spacings of 1/64
  const std::string method = "quantize:feedback=0";
  const auto first = rig.run(inputs, count / size, {.method = method, .collective = Collective::ReduceScatter});
  double squares = 0, sum = 0;
  for (const auto& output : first) {
    for (double value : output) {
      const double off = (value - size * inputs[0][0]) * 64;  // the sum of 7 errors of half a spacing
      squares += off * off / count;
      sum += off / count;
    }
  }
  EXPECT_NEAR(squares, 7 * 0.25, 0.2);
  EXPECT_LT(std::fabs(sum), 0.1);
  for (const auto& output : first) {
    for (const auto& other : first) EXPECT_TRUE(&output == &other || output != other) << "pieces are rounded alike";
  }
  EXPECT_NE(rig.run(inputs, count / size, {.method = method, .collective = Collective::ReduceScatter}), first);
  MethodRig again(size), other(size);
  EXPECT_EQ(again.run(inputs, count / size, {.method = method, .collective = Collective::ReduceScatter}), first);
  for (MethodState& state : other.states) state.sampler.seed = 2;
  EXPECT_NE(other.run(inputs, count / size, {.method = method, .collective = Collective::ReduceScatter}), first);
}

/// Spacings are powers of two, so that hardly anything is rounded but the elements themselves. In f64 it is next to
/// nothing; whole numbers are exact.
TEST(Quantize, FeedbackKeepsWhatEachRoundingHasLost) {
  for (const auto& [method, reduction] : {std::pair{"quantize", Reduction::Sum},
                                          {"quantize:bits=4,block=16", Reduction::Avg},
                                          {"quantize:bits=4,block=8", Reduction::Sum}}) {
    for (Rank size : {1, 2, 3, 8}) {
      const auto ranks = static_cast<std::size_t>(size);
      for (bool is_whole : {false, true}) {
        constexpr std::size_t count = 500;
        MethodRig rig(size, drawn_options(3));
        std::vector<double> in(count), out(count);
        const double times = reduction == Reduction::Avg ? size : 1;
        for (unsigned run = 0; run < 6; ++run) {
          const auto inputs =
              is_whole ? whole_inputs<double>(ranks, count, run, 1000) : fractions<double>(ranks, count, run);
          const auto outputs = rig.run(inputs, method, reduction);
          for (std::size_t i = 0; i < count; ++i) {
            for (const auto& input : inputs) in[i] += input[i];
            out[i] += times * outputs[0][i];
          }
        }
        double largest_residual = 0;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          const auto residual = rig.residual<double>(rank);
          ASSERT_EQ(residual.size(), count);
          for (std::size_t i = 0; i < count; ++i) {
            out[i] += residual[i];
            largest_residual = std::max(largest_residual, std::fabs(residual[i]));
          }
        }
        EXPECT_GT(largest_residual, 1e-3) << "the test must lose something";
        const bool is_exact = is_whole && (reduction == Reduction::Sum || size != 3);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_NEAR(out[i], in[i], is_exact ? 0 : 1e-10 * (is_whole ? 1000 : 1))
              << method << " " << i << " P=" << size;
        }
      }
    }
  }
}

TEST(Quantize, ABlockWithAnInfinityOrANanBecomesNansAndLeavesNothing) {
  MethodRig rig(2);
  ByRank<float> inputs(2, std::vector<float>(16, 1.5f));
  inputs[0][1] = HUGE_VALF;
  inputs[1][9] = std::nanf("");
  const auto outputs = rig.run(inputs, "quantize:block=4");
  for (std::size_t i = 0; i < 16; ++i) {
    const bool is_near = i / 4 == 0 || i / 4 == 2;
    EXPECT_EQ(std::isnan(outputs[0][i]), is_near) << i;
    EXPECT_EQ(std::isnan(outputs[1][i]), is_near) << i;
    for (std::size_t rank : {0u, 1u}) EXPECT_TRUE(std::isfinite(rig.residual<float>(rank)[i])) << i;
  }
}

TEST(Quantize, SendsTheFormulasBytes) {
  for (Rank size = 1; size <= 9; ++size) {
    const auto ranks = static_cast<std::size_t>(size);
    for (std::size_t count : counts(ranks)) {
      for (const std::size_t bits : {8u, 4u}) {
        for (const std::size_t block : {4u, 64u}) {
          RanksOptions options = drawn_options(0);
          options.executor.chunk_bytes = 1 << 20;  // one part
          MethodRig rig(size, options);
          const std::string method = fmt::format("quantize:bits={},block={}", bits, block);
          rig.run(whole_inputs<float>(ranks, count, 1), method);
          std::size_t all = 0;
          for (std::size_t piece = 0; piece < ranks; ++piece) {
            const std::size_t elements = exact_boundary(piece + 1, count, ranks) - exact_boundary(piece, count, ranks);
            all += 2 * (ranks - 1) * message_bytes(elements, bits, block);
          }
          EXPECT_EQ(rig.sent_by_all(), all) << method << " P=" << size << " count " << count;
          Call call{.collective = Collective::Allreduce, .count = count};
          call.options.method = *method_options(method);
          const PartPlan plan;
          const MethodAlgorithm& one = *quantize_method.find(call.collective, "quantize_direct");
          EXPECT_DOUBLE_EQ(
              one.predictions->bytes({.call = call, .plan = plan, .size = size, .places = 0, .entries = 0}),
              static_cast<double>(all) / size);
          MethodRig blocks(size, options);
          blocks.run(whole_inputs<float>(ranks, ranks * count, 1), count,
                     {.method = method, .collective = Collective::ReduceScatter});
          EXPECT_EQ(blocks.sent_by_all(), ranks * (ranks - 1) * message_bytes(count, bits, block));
          MethodRig gathered(size, options);
          gathered.run(whole_inputs<float>(ranks, count, 1), count,
                       {.method = method + ",feedback=0", .collective = Collective::Allgather});
          EXPECT_EQ(gathered.sent_by_all(), ranks * (ranks - 1) * message_bytes(count, bits, block));
        }
      }
    }
  }
}

TEST(Quantize, RefusesWhatItCanNotDoAndSaysWhatIsAllowed) {
  Call call{.collective = Collective::Allreduce, .count = 10};
  EXPECT_EQ(refusal_of(call, "quantize"),
            "invalid argument: quantize needs a state, which counts the runs, so that each run rounds in a way of its "
            "own; give one");
  MethodState state;
  call.options.state = &state;
  EXPECT_EQ(refusal_of(call, "quantize"), "");
  EXPECT_EQ(refusal_of(call, "quantize:bits=5"), "invalid argument: quantize.bits is 5, must be 4 or 8");
  EXPECT_NE(refusal_of(call, "quantize:bits=16").find("4 .. 8"), std::string::npos);
  EXPECT_EQ(refusal_of(call, "quantize:block=6"), "invalid argument: quantize.block is 6, must be a multiple of 4");
  for (Dtype dtype : {Dtype::I32, Dtype::I64, Dtype::U8, Dtype::BF16, Dtype::F16}) {
    call.dtype = dtype;
    EXPECT_EQ(refusal_of(call, "quantize"),
              fmt::format("invalid argument: quantize of {}: the data must be of f32 or f64", to_string(dtype)));
  }
  call.dtype = Dtype::F64;
  call.reduction = Reduction::Max;
  EXPECT_EQ(refusal_of(call, "quantize"),
            "invalid argument: quantize rounds the terms of a sum by chance: the reduction is max, must be sum or avg");
  call.collective = Collective::Allgather;
  EXPECT_EQ(refusal_of(call, "quantize:feedback=0"), "");
  EXPECT_EQ(refusal_of(call, "quantize"),
            "invalid argument: quantize.feedback adds what was rounded off to the terms of the next sum, and allgather "
            "has none: give feedback=0");
}

}  // namespace
}  // namespace lacuna::test
