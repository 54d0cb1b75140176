#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "algorithms/phases/left_out.hpp"
#include "algorithms/registry/registry.hpp"
#include "tests/algorithms/skip/skip_rig.hpp"
#include "tests/support/skip_call.hpp"

// The acceptance properties of SkipReduce: what is refused, how ranks agree on their draws, and what is sent.
namespace lacuna::test {
namespace {

TEST(SkipDraws, EqualSamplersRepeatTheirPatternsAndAdvanceByOneDraw) {
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

TEST(SkipDraws, PartsOfACallTurnIndependently) {
  constexpr Rank size = 4;
  constexpr std::size_t count = 2 * size * skip_chunk_bytes / 8;  // two parts
  constexpr int calls = 800;
  DecodingRig rig(size, count);
  Sampler sampler{.seed = 1, .key = 2};
  int turns[size][size] = {};
  const auto missing = [&](std::size_t element) {
    return std::countr_one(static_cast<std::uint64_t>(rig.outputs[0][element]));
  };
  for (int k = 0; k < calls; ++k) {
    rig.run(rig.calls(Dtype::I64, "skip_ring", 1, SkipMode::Random, sampler));
    sampler = rig.samplers[0];
    ++turns[missing(0)][missing(count / 2)];
  }
  constexpr double expected = 1.0 * calls / (size * size);
  double chi_square = 0;
  for (const auto& row : turns) {
    for (int times : row) chi_square += (times - expected) * (times - expected) / expected;
  }
  EXPECT_LT(chi_square, 37.7);  // 15 degrees of freedom, p = 0.001
}

TEST(SkipDraws, OtherTrafficChangesNoDrawOfAKey) {
  DecodingRig quiet(4, 203), busy(4, 203);
  std::vector<MethodState> states(4), others(4);
  const auto run = [](DecodingRig& rig, std::vector<MethodState>& own) {
    Call call{.collective = Collective::Allreduce, .dtype = Dtype::I64};
    call.options.algorithm = "skip_ring";
    call.options.method = lacuna::skip({.steps = 2, .mode = SkipMode::Shuffled});
    rig.run(
        rig.calls_with(call, [&](Call& one, Rank rank) { one.options.state = &own[static_cast<std::size_t>(rank)]; }));
  };
  std::vector<MethodState> noise(4, MethodState{.sampler = {.seed = 1, .key = 9}});
  for (int k = 0; k < 6; ++k) {
    run(quiet, states);
    for (int more = 0; more < k; ++more) {
      run(busy, noise);
      busy.run(busy.calls(Dtype::I64, "ring", 0));
    }
    run(busy, others);
    EXPECT_EQ(quiet.outputs, busy.outputs) << "call " << k;
  }
}

TEST(SkipDraws, ShuffledHasMorePatternsThanTurns) {
  DecodingRig rig(5, 5);
  std::set<std::vector<std::int64_t>> turned, shuffled;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    rig.run(rig.calls(Dtype::I64, "skip_ring", 2, SkipMode::Random, {.draw = draw}));
    turned.insert(rig.outputs[0]);
    rig.run(rig.calls(Dtype::I64, "skip_ring", 2, SkipMode::Shuffled, {.draw = draw}));
    shuffled.insert(rig.outputs[0]);
  }
  EXPECT_EQ(turned.size(), 5u);
  EXPECT_GT(shuffled.size(), 60u);  // of 120
}

TEST(SkipDraws, GatherStepsOfSegmentsAreDrawnToo) {
  DecodingRig rig(4, 203);
  const std::vector<SkipSegment> segments = {{.offset = 0, .count = 150},
                                             {.offset = 150, .count = 53, .policy = SkipPolicy::Never}};
  std::set<std::vector<std::int64_t>> patterns;
  std::vector<MethodState> states(4);
  Call call{.collective = Collective::Allreduce, .dtype = Dtype::I64};
  call.options.algorithm = "skip_ring";
  call.options.method =
      lacuna::skip({.mode = SkipMode::Shuffled, .incomplete = true, .gather_steps = 1, .segments = segments});
  skip_in(call)->small = 8;
  for (int k = 0; k < 10; ++k) {
    rig.run(rig.calls_with(call,
                           [&](Call& one, Rank rank) { one.options.state = &states[static_cast<std::size_t>(rank)]; }));
    patterns.insert(rig.outputs[0]);
  }
  EXPECT_GT(patterns.size(), 1u);
  EXPECT_EQ(states[0].sampler.draw, 10u);
}

TEST(SkipDraws, StaticRepeatsOnePatternAndLeavesTheSamplerAlone) {
  DecodingRig rig(5, 203);
  std::set<std::vector<std::int64_t>> patterns;
  for (std::uint64_t draw = 0; draw < 5; ++draw) {
    rig.run(rig.calls(Dtype::I64, "skip_ring", 2, SkipMode::Static, {.seed = draw, .key = draw, .draw = draw}));
    for (const Sampler& after : rig.samplers) EXPECT_EQ(after.draw, draw);
    patterns.insert(rig.outputs[0]);
  }
  EXPECT_EQ(patterns.size(), 1u);
}

void expect_equal_losses(SkipMode mode) {
  constexpr Rank size = 5;
  constexpr int skip = 2, calls = 500;
  DecodingRig rig(size, size);  // one part, one element a piece
  Sampler sampler{.seed = 1, .key = 2};
  std::int64_t lost[size][size] = {};
  for (int k = 0; k < calls; ++k) {
    rig.run(rig.calls(Dtype::I64, "skip_ring", skip, mode, sampler));
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

TEST(SkipDraws, OverManyCallsEachRankLosesEachPieceEquallyOften) {
  expect_equal_losses(SkipMode::Random);
  expect_equal_losses(SkipMode::Shuffled);
}

TEST(SkipDraws, SendsExactlyTheBytesAndRoundsThatRemain) {
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

TEST(SkipDraws, ReducesOncePerRemainingStep) {
  Call call;
  call.options.algorithm = "skip_ring";
  call.collective = Collective::Allreduce;
  const Algorithm& algorithm = **select_algorithm(call, 8);
  for (int skip = 0; skip < 8; ++skip) {
    GraphBuilder builder(
        {.collective = Collective::Allreduce, .size = 8, .structure = {.parameters = LeftOut{.rounds = skip}}},
        algorithm.symmetric);
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
