#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "algorithms/registry.hpp"
#include "algorithms/skip_mask.hpp"
#include "runtime/values/philox.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/ranks.hpp"

// The acceptance properties of SkipReduce. Counts by rank, sizes and bits of random inputs are the conformance suite's.
namespace lacuna::test {
namespace {

constexpr Rank sizes[] = {1, 2, 3, 5, 8};
constexpr std::size_t chunk_bytes = 128;

/// Ranks with vectors of T as buffers, and the last call's results.
template <class T>
class Rig {
 public:
  explicit Rig(Rank size) : ranks(size, options()), inputs(static_cast<std::size_t>(size)), outputs(inputs.size()) {}

  static RanksOptions options() {
    RanksOptions given{.network = {}, .executor = quick_executor()};
    given.executor.chunk_bytes = chunk_bytes;
    return given;
  }

  Call call(Rank rank, Dtype dtype, const char* algorithm, int skip, SkipMode mode = SkipMode::Static) {
    const auto i = static_cast<std::size_t>(rank);
    outputs[i].assign(inputs[i].size(), T{});
    Call made;
    made.collective = Collective::Allreduce;
    made.input = inputs[i].data();
    made.output = outputs[i].data();
    made.count = inputs[i].size() * sizeof(T) / size_of(dtype);
    made.dtype = dtype;
    made.options.algorithm = algorithm;
    made.options.skip_steps = skip;
    made.options.skip_mode = mode;
    return made;
  }

  /// The same call on all ranks, each with an equal sampler of its own.
  std::vector<Call> calls(Dtype dtype, const char* algorithm, int skip, SkipMode mode = SkipMode::Static,
                          const Sampler& sampler = {}) {
    samplers.assign(inputs.size(), sampler);
    std::vector<Call> all;
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      all.push_back(call(rank, dtype, algorithm, skip, mode));
      all.back().options.sampler = &samplers[static_cast<std::size_t>(rank)];
    }
    return all;
  }

  void run(const std::vector<Call>& all) {
    for (const Status& status : ranks.run(all)) ASSERT_TRUE(status) << status.to_string();
  }

  Ranks ranks;
  std::vector<std::vector<T>> inputs, outputs;
  std::vector<Sampler> samplers;
};

/// Rank r gives 2^r: an element of the sum shows who contributed.
struct DecodingRig : Rig<std::int64_t> {
  DecodingRig(Rank size, std::size_t count) : Rig(size) {
    for (Rank rank = 0; rank < size; ++rank) {
      inputs[static_cast<std::size_t>(rank)].assign(count, std::int64_t{1} << rank);
    }
  }
};

/// The bits of the ranks that contribute to a piece of this owner.
std::int64_t contributors(Rank size, Rank owner, int skip) {
  std::int64_t bits = (std::int64_t{1} << size) - 1;
  for (int k = 1; k <= skip; ++k) bits -= std::int64_t{1} << ((owner + k) % size);
  return bits;
}

TEST(SkipRing, WithoutSkippedStepsEqualsTheDenseRingBitForBitUnderAnySeed) {
  for (Rank size : sizes) {
    for (Dtype dtype : all_dtypes) {
      Rig<unsigned char> rig(size);
      std::mt19937 random(static_cast<unsigned>(size));
      for (auto& input : rig.inputs) {
        input.resize(64 * size_of(dtype));
        for (std::size_t i = 0; i < input.size(); ++i) {
          const auto byte = static_cast<unsigned char>(random());
          input[i] = (i + 1) % size_of(dtype) == 0 ? byte & 0xbf : byte;  // the exponent's high bit: no NaN, no infinity
        }
      }
      rig.run(rig.calls(dtype, "ring", 0));
      const auto dense = rig.outputs;
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        rig.run(rig.calls(dtype, "skip_ring", 0, SkipMode::Random, {.seed = seed, .key = 1, .draw = seed}));
        ASSERT_EQ(rig.outputs, dense) << size << " ranks, " << to_string(dtype) << ", seed " << seed;
      }
    }
  }
}

/// The sum of one element in the order of its way around the ring, starting behind the ranks that are left out.
float ring_sum(const Rig<float>& rig, std::size_t element, Rank owner, int skip) {
  const Rank size = rig.ranks.size();
  const auto input = [&](Rank rank) { return rig.inputs[static_cast<std::size_t>(rank % size)][element]; };
  if (skip == size - 1) return input(owner);
  float sum = input(owner + skip + 1);
  for (Rank rank = owner + skip + 2; rank <= owner + size; ++rank) sum = input(rank) + sum;
  return sum;
}

/// Calls visit(element, owner) for all elements, by the definition of parts, pieces and turns.
template <class Visit>
void each_element(std::size_t count, std::size_t width, Rank size, const Sampler* sampler, Visit visit) {
  const auto p = static_cast<std::size_t>(size);
  const std::size_t parts = expected_parts(Collective::Allreduce, count * width, size, chunk_bytes);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = exact_boundary(part, count, parts);
    const std::size_t length = exact_boundary(part + 1, count, parts) - begin;
    const Rank turn = sampler ? static_cast<Rank>(bounded_draw(*sampler, static_cast<std::uint32_t>(part),
                                                               static_cast<std::uint32_t>(size)))
                              : 0;
    for (std::size_t piece = 0; piece < p; ++piece) {
      for (std::size_t i = exact_boundary(piece, length, p); i < exact_boundary(piece + 1, length, p); ++i) {
        visit(begin + i, (static_cast<Rank>(piece) + turn) % size);
      }
    }
  }
}

TEST(SkipRing, FloatsEqualTheSumInRingOrderOnAllRanks) {
  const Sampler sampler{.seed = 4, .key = 2, .draw = 9};
  for (Rank size : sizes) {
    Rig<float> rig(size);
    std::mt19937 random(5);
    for (auto& input : rig.inputs) {
      for (int i = 0; i < 331; ++i) input.push_back(std::normal_distribution<float>()(random));
    }
    for (int skip = 0; skip < size; ++skip) {
      for (SkipMode mode : {SkipMode::Static, SkipMode::Random}) {
        rig.run(rig.calls(Dtype::F32, "skip_ring", skip, mode, sampler));
        const bool turns = mode == SkipMode::Random && skip > 0;
        each_element(331, sizeof(float), size, turns ? &sampler : nullptr, [&](std::size_t i, Rank owner) {
          const float expected = ring_sum(rig, i, owner, skip);
          ASSERT_EQ(std::memcmp(&rig.outputs[0][i], &expected, sizeof expected), 0)
              << size << " ranks, skip " << skip << ", element " << i;
        });
        for (const auto& output : rig.outputs) {
          ASSERT_EQ(std::memcmp(output.data(), rig.outputs[0].data(), output.size() * sizeof(float)), 0);
        }
      }
    }
  }
}

TEST(SkipRing, ExactlyTheRanksBehindTheOwnerAreMissing) {
  for (Rank size : sizes) {
    DecodingRig rig(size, 203);
    for (int skip = 0; skip < size; ++skip) {
      rig.run(rig.calls(Dtype::I64, "skip_ring", skip));
      each_element(203, sizeof(std::int64_t), size, nullptr, [&](std::size_t i, Rank owner) {
        for (const auto& output : rig.outputs) ASSERT_EQ(output[i], contributors(size, owner, skip));
      });
    }
  }
}

TEST(SkipRing, TheMaskSaysWhoContributed) {
  const Sampler sampler{.seed = 8, .key = 1, .draw = 3};
  for (Rank size : sizes) {
    DecodingRig rig(size, 203);
    for (int skip = 0; skip < size; ++skip) {
      const auto calls = rig.calls(Dtype::I64, "skip_ring", skip, SkipMode::Random, sampler);
      rig.run(calls);
      const auto parts = static_cast<std::uint32_t>(expected_parts(Collective::Allreduce, 203 * 8, size, chunk_bytes));
      const SkipMask mask(calls[0], size, sampler, parts);
      for (std::size_t i = 0; i < 203; ++i) {
        for (Rank rank = 0; rank < size; ++rank) {
          ASSERT_EQ(mask.contributes(rank, i), (rig.outputs[0][i] >> rank & 1) == 1)
              << size << " ranks, skip " << skip << ", rank " << rank << ", element " << i;
        }
      }
    }
  }
}

TEST(SkipRing, WithoutAnyReduceScatterStepEachPieceIsItsOwners) {
  for (bool in_place : {false, true}) {
    DecodingRig rig(5, 64);
    auto calls = rig.calls(Dtype::I64, "skip_ring", 4);
    if (in_place) {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        rig.outputs[i] = rig.inputs[i];
        calls[i].input = calls[i].output = rig.outputs[i].data();
      }
    }
    rig.run(calls);
    each_element(64, 8, 5, nullptr, [&](std::size_t i, Rank owner) {
      for (const auto& output : rig.outputs) ASSERT_EQ(output[i], std::int64_t{1} << owner);
    });
  }
}

TEST(SkipRing, AverageOfWhatIsLeftStillDividesByAllRanks) {
  Rig<double> rig(4);
  for (auto& input : rig.inputs) input.assign(40, 8.0);
  for (int skip = 0; skip < 4; ++skip) {
    auto calls = rig.calls(Dtype::F64, "skip_ring", skip);
    for (Call& call : calls) call.reduction = Reduction::Avg;
    rig.run(calls);
    for (const auto& output : rig.outputs) EXPECT_EQ(output, std::vector<double>(40, 8.0 * (4 - skip) / 4));
  }
}

TEST(SkipRing, RefusesStepsBeyondTheRingAndReductionsThatAreNoSums) {
  Call call;
  call.collective = Collective::Allreduce;
  call.options.algorithm = "skip_ring";
  for (int skip : {-1, 4, 100}) {
    call.options.skip_steps = skip;
    const auto refused = select_algorithm(call, 4);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.status().message().find("must be 0 .. 3"), std::string::npos) << refused.status().message();
  }
  for (Reduction reduction : {Reduction::Min, Reduction::Max, Reduction::Prod}) {
    call.options.skip_steps = 1;
    call.reduction = reduction;
    const auto refused = select_algorithm(call, 4);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.status().message().find("must be sum or avg"), std::string::npos);
  }
}

/// Rank 1 of three asks for something else: nobody's call ends well, and rank 2, whose neighbour it is, says mismatch.
void expect_mismatch(void (*change)(Call&)) {
  DecodingRig rig(3, 50);
  auto calls = rig.calls(Dtype::I64, "skip_ring", 1, SkipMode::Random);
  for (Call& call : calls) call.options.deadline = std::chrono::milliseconds(200);
  change(calls[1]);
  std::vector<runtime::Run*> runs;
  for (Rank rank = 0; rank < 3; ++rank) runs.push_back(*rig.ranks.post(rank, calls[static_cast<std::size_t>(rank)]));
  ASSERT_TRUE(rig.ranks.sweep_for(std::chrono::seconds(20), [&] {
    return std::all_of(runs.begin(), runs.end(), [](const runtime::Run* run) { return run->finished; });
  }));
  for (const runtime::Run* run : runs) EXPECT_FALSE(run->status);
  EXPECT_EQ(runs[2]->status.code(), Code::Mismatch) << runs[2]->status.to_string();
}

TEST(SkipRing, DifferingStepsEndInAnErrorOnAllRanks) {
  expect_mismatch([](Call& call) { call.options.skip_steps = 2; });
}

TEST(SkipRing, DifferingModesEndInAnErrorOnAllRanks) {
  expect_mismatch([](Call& call) { call.options.skip_mode = SkipMode::Static; });
}

TEST(SkipRing, DifferingSeedsEndInAnErrorOnAllRanks) {
  expect_mismatch([](Call& call) { call.options.sampler->seed = 1; });
}

TEST(SkipRing, DifferingDrawsEndInAnErrorOnAllRanks) {
  expect_mismatch([](Call& call) { ++call.options.sampler->draw; });
}

TEST(SkipRing, EqualSamplersRepeatTheirPatternsAndAdvanceByOneDraw) {
  const Sampler start{.seed = 6, .key = 7, .draw = 100};
  DecodingRig first(5, 203);
  DecodingRig second(5, 203);
  std::set<std::vector<std::int64_t>> patterns;
  Sampler sampler = start;
  for (int k = 0; k < 8; ++k) {
    first.run(first.calls(Dtype::I64, "skip_ring", 2, SkipMode::Random, sampler));
    if (k % 2 == 1) second.run(second.calls(Dtype::I64, "ring", 0));  // other traffic changes nothing
    second.run(second.calls(Dtype::I64, "skip_ring", 2, SkipMode::Random, sampler));
    EXPECT_EQ(first.outputs, second.outputs);
    for (const Sampler& after : first.samplers) EXPECT_EQ(after.draw, sampler.draw + 1);
    patterns.insert(first.outputs[0]);
    sampler = first.samplers[0];
  }
  EXPECT_GT(patterns.size(), 4u);
}

TEST(SkipRing, StaticRepeatsOnePatternAndLeavesTheSamplerAlone) {
  DecodingRig rig(5, 203);
  std::set<std::vector<std::int64_t>> patterns;
  for (std::uint64_t draw = 0; draw < 5; ++draw) {
    rig.run(rig.calls(Dtype::I64, "skip_ring", 2, SkipMode::Static, {.seed = draw, .key = draw, .draw = draw}));
    for (const Sampler& after : rig.samplers) EXPECT_EQ(after.draw, draw);
    patterns.insert(rig.outputs[0]);
  }
  EXPECT_EQ(patterns.size(), 1u);
}

TEST(SkipRing, OverManyCallsEachRankLosesEachPieceEquallyOften) {
  constexpr Rank size = 5;
  constexpr int skip = 2, calls = 500;
  DecodingRig rig(size, size);  // one part, one element a piece
  Sampler sampler{.seed = 1, .key = 2};
  std::int64_t lost[size][size] = {};
  for (int k = 0; k < calls; ++k) {
    rig.run(rig.calls(Dtype::I64, "skip_ring", skip, SkipMode::Random, sampler));
    sampler = rig.samplers[0];
    for (Rank rank = 0; rank < size; ++rank) {
      for (std::size_t piece = 0; piece < size; ++piece) lost[rank][piece] += 1 - (rig.outputs[0][piece] >> rank & 1);
    }
  }
  constexpr double expected = 1.0 * calls * skip / size;
  for (const auto& by_piece : lost) {
    double chi_square = 0;
    for (std::int64_t times : by_piece) {
      const double off = static_cast<double>(times) - expected;
      chi_square += off * off / expected;
    }
    EXPECT_LT(chi_square, 18.47);  // 4 degrees of freedom, p = 0.001; overlapping losses only make it smaller
  }
}

TEST(SkipRing, SendsExactlyTheBytesAndRoundsThatRemain) {
  for (Rank size : {2, 3, 5, 8}) {
    const std::size_t count = 12 * static_cast<std::size_t>(size);
    DecodingRig rig(size, count);
    for (int skip = 0; skip < size; ++skip) {
      for (SkipMode mode : {SkipMode::Static, SkipMode::Random}) {
        const auto calls = rig.calls(Dtype::I64, "skip_ring", skip, mode);
        std::vector<Counters> before;
        for (Rank rank = 0; rank < size; ++rank) before.push_back(rig.ranks.counters(rank));
        rig.run(calls);
        const auto slices = static_cast<std::uint64_t>(2 * (size - 1) - skip);
        for (Rank rank = 0; rank < size; ++rank) {
          const Counters after = rig.ranks.counters(rank), &then = before[static_cast<std::size_t>(rank)];
          EXPECT_EQ(after.payload_sent - then.payload_sent, slices * 12 * 8);
          EXPECT_EQ(after.payload_received - then.payload_received, slices * 12 * 8);
          EXPECT_EQ(after.messages_sent - then.messages_sent, slices);
        }
      }
    }
  }
}

TEST(SkipRing, ReducesOncePerRemainingStep) {
  Call call;
  call.options.algorithm = "skip_ring";
  call.collective = Collective::Allreduce;
  const Algorithm& algorithm = **select_algorithm(call, 8);
  for (int skip = 0; skip < 8; ++skip) {
    GraphBuilder builder({.collective = Collective::Allreduce, .size = 8, .skip_steps = skip}, algorithm.symmetric);
    algorithm.build(builder);
    const Graph graph = std::move(builder).build();
    const auto reductions = std::count_if(graph.steps().begin(), graph.steps().end(), [](const Step& step) {
      return step.kind == StepKind::ReceiveReduce && step.to.of == 8 && step.to.end == step.to.begin + 1;
    });
    EXPECT_EQ(reductions, 7 - skip);
  }
}

}  // namespace
}  // namespace lacuna::test
