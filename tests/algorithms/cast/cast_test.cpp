#include "algorithms/cast/cast.hpp"

#include <cmath>

#include "tests/algorithms/method_rig.hpp"
#include "tests/kernels/oracle.hpp"
#include "tests/support/oracle.hpp"

// Calls with the method cast, compared with what plain loops over the inputs of all ranks compute.
namespace lacuna::test {
namespace {

/// An element after it has travelled as another type.
template <class T>
T travelled(T value, Dtype as) {
  return static_cast<T>(oracle::decode(as, oracle::encode(as, static_cast<double>(value))));
}

template <class T>
T reduced(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::Min:
      return std::min(a, b);
    case Reduction::Max:
      return std::max(a, b);
    case Reduction::Prod:
      return a * b;
    default:
      return a + b;
  }
}

/// The owner of an element of n that P ranks share.
std::size_t owner_of(std::size_t element, std::size_t count, std::size_t ranks) {
  std::size_t owner = 0;
  while (exact_boundary(owner + 1, count, ranks) <= element) ++owner;
  return owner;
}

/// What the owner of an element makes of the terms of all ranks, before the result travels.
template <class T>
T result_at(const ByRank<T>& inputs, std::size_t element, std::size_t owner, Dtype as, Reduction reduction) {
  T result = 0;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    const T term = rank == owner ? inputs[rank][element] : travelled(inputs[rank][element], as);
    result = rank == 0 ? term : reduced(reduction, result, term);
  }
  return reduction == Reduction::Avg ? result / static_cast<T>(inputs.size()) : result;
}

std::vector<std::size_t> counts(std::size_t ranks) { return {0, 1, ranks - 1, ranks, ranks + 1, 17, 257, 1031}; }

template <class T>
void expect_oracles_bits(const std::string& method, Dtype as) {
  for (Rank size = 1; size <= 9; ++size) {
    const auto ranks = static_cast<std::size_t>(size);
    for (Reduction reduction : {Reduction::Sum, Reduction::Avg, Reduction::Min, Reduction::Max, Reduction::Prod}) {
      MethodRig rig(size, drawn_options(ranks));
      for (std::size_t count : counts(ranks)) {
        const auto inputs = wild_inputs<T>(ranks, count, static_cast<unsigned>(count + ranks));
        for (bool in_place : {false, true}) {
          const auto outputs = rig.run(inputs, count, {.method = method, .reduction = reduction, .in_place = in_place});
          ASSERT_EQ(outputs.size(), ranks);
          // The part of 128 bytes to which an element belongs has owners of its own.
          const std::size_t parts = expected_parts(Collective::Allreduce, count * sizeof(T), size, 128);
          for (std::size_t part = 0; part < parts; ++part) {
            const std::size_t begin = exact_boundary(part, count, parts), end = exact_boundary(part + 1, count, parts);
            for (std::size_t i = begin; i < end; ++i) {
              const T sum = result_at(inputs, i, owner_of(i - begin, end - begin, ranks), as, reduction);
              for (const auto& output : outputs) {
                ASSERT_EQ(output[i], travelled(sum, as)) << method << " " << i << " of " << count << " P=" << size;
              }
            }
          }
        }
      }
    }
  }
}

TEST(Cast, AnAllreduceRoundsEachTermAndTheResultOnce) {
  expect_oracles_bits<float>("cast:to=bf16", Dtype::BF16);
  expect_oracles_bits<float>("cast:to=f16", Dtype::F16);
  expect_oracles_bits<double>("cast:to=bf16", Dtype::BF16);
  expect_oracles_bits<double>("cast:to=f32", Dtype::F32);
}

TEST(Cast, WholeNumbersInRangeLoseNothing) {
  for (Rank size : {1, 2, 5, 9}) {
    const auto inputs = whole_inputs<float>(static_cast<std::size_t>(size), 1031, 3, 28);  // 9 x 28 < 256
    MethodRig rig(size);
    for (const char* method : {"cast", "cast:to=f16", "cast:feedback=1"}) {
      for (const auto& output : rig.run(inputs, method)) EXPECT_EQ(output, sum_of_ranks(inputs)) << method;
    }
  }
}

TEST(Cast, AReduceScatterRoundsTheTermsOnly) {
  constexpr std::size_t count = 37;
  for (Rank size = 1; size <= 9; ++size) {
    const auto ranks = static_cast<std::size_t>(size);
    MethodRig rig(size, drawn_options(5));
    const auto inputs = wild_inputs<float>(ranks, ranks * count, 7);
    for (bool in_place : {false, true}) {
      const auto outputs = rig.run(inputs, count,
                                   {.method = "cast:to=f16",
                                    .collective = Collective::ReduceScatter,
                                    .reduction = Reduction::Avg,
                                    .in_place = in_place});
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(outputs[rank][i], result_at(inputs, rank * count + i, rank, Dtype::F16, Reduction::Avg));
        }
      }
      EXPECT_EQ(rig.sent_by_all(), 2 * (ranks - 1) * ranks * count);
    }
  }
}

TEST(Cast, WhatIsGatheredOrSentToAllIsRoundedOnceOnAllRanks) {
  constexpr std::size_t count = 41;
  for (Rank size = 1; size <= 9; ++size) {
    const auto ranks = static_cast<std::size_t>(size);
    MethodRig rig(size, drawn_options(6));
    const auto inputs = wild_inputs<float>(ranks, count, 8);
    for (bool in_place : {false, true}) {
      const auto gathered =
          rig.run(inputs, count, {.method = "cast", .collective = Collective::Allgather, .in_place = in_place});
      EXPECT_EQ(rig.sent_by_all(), 2 * (ranks - 1) * ranks * count);
      const Rank root = size / 2;
      const auto sent = rig.run(
          inputs, count, {.method = "cast", .collective = Collective::Broadcast, .in_place = in_place, .root = root});
      EXPECT_EQ(rig.sent_by_all(), 2 * (ranks - 1) * count);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(sent[rank][i], travelled(inputs[static_cast<std::size_t>(root)][i], Dtype::BF16));
          for (std::size_t from = 0; from < ranks; ++from) {
            ASSERT_EQ(gathered[rank][from * count + i], travelled(inputs[from][i], Dtype::BF16));
          }
        }
      }
    }
  }
}

TEST(Cast, SendsHalfOrAQuarterOfTheBytes) {
  for (Rank size = 1; size <= 9; ++size) {
    for (std::size_t count : counts(static_cast<std::size_t>(size))) {
      const auto ranks = static_cast<std::size_t>(size);
      MethodRig rig(size);
      rig.run(whole_inputs<float>(ranks, count, 1), "cast");
      std::uint64_t dense = 0;
      for (const Report& report : rig.reports) dense += report.dense_sent;
      EXPECT_EQ(rig.sent_by_all(), 2 * 2 * (ranks - 1) * count);
      EXPECT_EQ(2 * rig.sent_by_all(), dense);
      rig.run(whole_inputs<double>(ranks, count, 1), "cast");
      EXPECT_EQ(rig.sent_by_all(), 2 * 2 * (ranks - 1) * count);
      rig.run(whole_inputs<double>(ranks, count, 1), "cast:to=f32");
      EXPECT_EQ(rig.sent_by_all(), 4 * 2 * (ranks - 1) * count);
    }
  }
}

/// All that went in is in the results or in the residuals, up to the roundings of f32, which the test does in f64.
TEST(Cast, FeedbackKeepsWhatEachRoundingHasLost) {
  for (const auto& [method, reduction] : {std::pair{"cast:feedback=1", Reduction::Sum},
                                          {"cast:to=f16,feedback=1", Reduction::Avg},
                                          {"cast:feedback=1", Reduction::Avg}}) {
    for (Rank size : {1, 2, 3, 8}) {
      const auto ranks = static_cast<std::size_t>(size);
      constexpr std::size_t count = 500;
      MethodRig rig(size, drawn_options(3));
      std::vector<double> in(count), out(count);
      for (unsigned run = 0; run < 5; ++run) {
        const auto inputs = wild_inputs<float>(ranks, count, run);
        const auto outputs = rig.run(inputs, method, reduction);
        const double times = reduction == Reduction::Avg ? size : 1;
        for (std::size_t i = 0; i < count; ++i) {
          for (const auto& input : inputs) in[i] += static_cast<double>(input[i]);
          out[i] += times * static_cast<double>(outputs[0][i]);
        }
      }
      double largest_residual = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto residual = rig.residual<float>(rank);
        ASSERT_EQ(residual.size(), count);
        for (std::size_t i = 0; i < count; ++i) {
          out[i] += static_cast<double>(residual[i]);
          largest_residual = std::max(largest_residual, std::fabs(static_cast<double>(residual[i])));
        }
      }
      EXPECT_GT(largest_residual, 0.2) << "the test must lose something";
      for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(out[i], in[i], 1e-3 * size) << method << " " << i;
    }
  }
}

/// A constant that bf16 can not hold comes out right on average.
TEST(Cast, FeedbackBringsBackWhatWasRoundedOff) {
  MethodRig with(4), without(4);
  const ByRank<float> inputs(4, std::vector<float>(50, 1.0f + 0x1p-10f));
  double sum = 0, plain = 0;
  for (int run = 0; run < 64; ++run) {
    sum += static_cast<double>(with.run(inputs, "cast:feedback=1")[1][7]);
    plain += static_cast<double>(without.run(inputs, "cast")[1][7]);
  }
  EXPECT_NEAR(sum / 64, 4 + 0x1p-8, 0x1p-10);
  EXPECT_EQ(plain / 64, 4);
}

TEST(Cast, NoResidualHoldsAnInfinityOrANan) {
  MethodRig rig(2);
  ByRank<float> inputs(2, std::vector<float>(4, 1.0f));
  inputs[0] = {1e30f, HUGE_VALF, std::nanf(""), 3};
  inputs[1] = {1e30f, 1, 2, 4};
  const auto outputs = rig.run(inputs, "cast:to=f16,feedback=1");
  for (const auto& output : outputs) {
    EXPECT_EQ(output[0], HUGE_VALF);
    EXPECT_EQ(output[1], HUGE_VALF);
    EXPECT_TRUE(std::isnan(output[2]));
    EXPECT_EQ(output[3], 7);
  }
  for (std::size_t rank : {0u, 1u}) EXPECT_EQ(rig.residual<float>(rank), std::vector<float>(4));
}

TEST(Cast, RefusesWhatItCanNotDoAndSaysWhatIsAllowed) {
  Call call{.collective = Collective::Allreduce, .count = 10};
  EXPECT_EQ(refusal_of(call, "cast"), "");
  EXPECT_EQ(refusal_of(call, "cast:to=f32"),
            "invalid argument: cast of f32 to f32: elements must become shorter; data of f64 may become bf16, f16 or "
            "f32, data of f32 bf16 or f16, and all other data none");
  for (Dtype dtype : {Dtype::I32, Dtype::I64, Dtype::U8, Dtype::BF16, Dtype::F16}) {
    call.dtype = dtype;
    EXPECT_NE(refusal_of(call, "cast").find("elements must become shorter"), std::string::npos) << to_string(dtype);
  }
  call.dtype = Dtype::F64;
  EXPECT_EQ(refusal_of(call, "cast:to=f32"), "");
  EXPECT_EQ(refusal_of(call, "cast:feedback=1"),
            "invalid argument: cast.feedback needs a state, which keeps what was rounded off; give one, or feedback=0");
  MethodState state;
  call.options.state = &state;
  EXPECT_EQ(refusal_of(call, "cast:feedback=1"), "");
  call.reduction = Reduction::Max;
  EXPECT_EQ(refusal_of(call, "cast"), "");
  EXPECT_EQ(refusal_of(call, "cast:feedback=1"),
            "invalid argument: cast.feedback adds what was rounded off to the terms of the next sum: the reduction is "
            "max, must be sum or avg");
  call.collective = Collective::Allgather;
  EXPECT_EQ(refusal_of(call, "cast:feedback=1"),
            "invalid argument: cast.feedback adds what was rounded off to the terms of the next sum, and allgather has "
            "none: it must be 0");
  EXPECT_NE(refusal_of(call, "cast:to=f8").find("bf16, f16 or f32"), std::string::npos);
}

}  // namespace
}  // namespace lacuna::test
