#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "algorithms/registry.hpp"
#include "tests/algorithms/skip_ring_rig.hpp"

// The acceptance properties of SkipReduce: what is refused, how ranks agree on their draws, and what is sent.
namespace lacuna::test::skip_ring {
namespace {

TEST(SkipRingDraws, RefusesStepsBeyondTheRingAndReductionsThatAreNoSums) {
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
  EXPECT_EQ(runs[2]->status.code(), Code::Mismatch);
  EXPECT_NE(runs[2]->status.message().find("rank 1 asked for something else than rank 2"), std::string::npos)
      << runs[2]->status.to_string();
}

TEST(SkipRingDraws, DifferingStepsEndInAnErrorOnAllRanks) {
  expect_mismatch([](Call& call) { call.options.skip_steps = 2; });
}

TEST(SkipRingDraws, DifferingModesEndInAnErrorOnAllRanks) {
  expect_mismatch([](Call& call) { call.options.skip_mode = SkipMode::Static; });
}

TEST(SkipRingDraws, DifferingSeedsEndInAnErrorOnAllRanks) {
  expect_mismatch([](Call& call) { call.options.sampler->seed = 1; });
}

TEST(SkipRingDraws, DifferingDrawsEndInAnErrorOnAllRanks) {
  expect_mismatch([](Call& call) { ++call.options.sampler->draw; });
}

TEST(SkipRingDraws, EqualSamplersRepeatTheirPatternsAndAdvanceByOneDraw) {
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

TEST(SkipRingDraws, StaticRepeatsOnePatternAndLeavesTheSamplerAlone) {
  DecodingRig rig(5, 203);
  std::set<std::vector<std::int64_t>> patterns;
  for (std::uint64_t draw = 0; draw < 5; ++draw) {
    rig.run(rig.calls(Dtype::I64, "skip_ring", 2, SkipMode::Static, {.seed = draw, .key = draw, .draw = draw}));
    for (const Sampler& after : rig.samplers) EXPECT_EQ(after.draw, draw);
    patterns.insert(rig.outputs[0]);
  }
  EXPECT_EQ(patterns.size(), 1u);
}

TEST(SkipRingDraws, OverManyCallsEachRankLosesEachPieceEquallyOften) {
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

TEST(SkipRingDraws, SendsExactlyTheBytesAndRoundsThatRemain) {
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

TEST(SkipRingDraws, ReducesOncePerRemainingStep) {
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
}  // namespace lacuna::test::skip_ring
