#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/algorithms/skip/skip_rig.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::test {
namespace {

using Segments = std::vector<SkipSegment>;
constexpr SkipPolicy skip = SkipPolicy::Skip, never = SkipPolicy::Never;

Call call_of(const Skip& asked, const char* algorithm = "skip_ring") {
  Call call{.collective = Collective::Allreduce};
  call.options.algorithm = algorithm;
  call.options.method = lacuna::skip(asked);
  return call;
}

/// Returns segments of these lengths, with one policy, or with two in turn.
Segments segments_of(const std::vector<std::size_t>& counts, SkipPolicy even, SkipPolicy odd) {
  Segments all;
  std::size_t offset = 0;
  for (std::size_t count : counts) {
    all.push_back({.offset = offset, .count = count, .policy = all.size() % 2 == 0 ? even : odd});
    offset += count;
  }
  return all;
}

std::uint64_t messages_of(SkipRig<float>& rig, const Call& call) {
  const std::uint64_t before = rig.ranks.counters(0).messages_sent;
  rig.run(rig.calls_with(call));
  return rig.ranks.counters(0).messages_sent - before;
}

std::uint64_t payload_of(SkipRig<float>& rig, const Call& call) {
  const std::uint64_t before = rig.ranks.counters(0).payload_sent;
  rig.run(rig.calls_with(call));
  return rig.ranks.counters(0).payload_sent - before;
}

TEST(SkipSegments, ThoseThatAreProtectedOrSmallEqualADenseCallBitForBit) {
  const Segments segments = segments_of({40, 3, 5, 200, 1, 0, 30, 7, 90}, skip, never);  // small: below 32 bytes
  for (Rank size : skip_sizes) {
    SkipRig<float> rig(size);
    rig.fill_normal(376, 11);
    for (bool in_place : {false, true}) {
      const auto run = [&](int steps) {
        auto calls =
            rig.calls_with(call_of({.steps = steps, .mode = SkipMode::Shuffled, .small = 32, .segments = segments}));
        if (in_place) {
          rig.outputs = rig.inputs;
          for (std::size_t i = 0; i < calls.size(); ++i) calls[i].input = calls[i].output = rig.outputs[i].data();
        }
        rig.run(calls);
        return rig.outputs;
      };
      const auto dense = run(0);
      for (int steps = 1; steps < size; ++steps) {
        const auto skipping = run(steps);
        for (const SkipSegment& segment : segments) {
          const bool is_dense = segment.policy == never || segment.count * sizeof(float) < 32;
          bool equal = true;
          for (std::size_t rank = 0; rank < skipping.size(); ++rank) {
            equal = equal && std::equal(&dense[rank][segment.offset], &dense[rank][segment.offset] + segment.count,
                                        &skipping[rank][segment.offset]);
          }
          ASSERT_EQ(equal, is_dense || segment.count == 0) << size << " ranks, S " << steps << ", " << segment.offset;
        }
      }
    }
  }
}

TEST(SkipSegments, EachElementOfASkippedOneLacksTheRanksBehindItsOwner) {
  for (Rank size : skip_sizes) {
    DecodingRig rig(size, 300);
    const Segments segments = segments_of({100, 50, 100, 50}, skip, never);
    for (int steps = 0; steps < size; ++steps) {
      Call call = call_of({.steps = steps, .small = 32, .segments = segments});
      call.dtype = Dtype::I64;
      rig.run(rig.calls_with(call));
      for (const SkipSegment& segment : segments) {
        const bool skips = segment.policy == skip;
        each_element(segment.count, sizeof(std::int64_t), size, nullptr, [&](std::size_t i, Rank owner) {
          std::int64_t expected = (std::int64_t{1} << size) - 1;
          for (int k = 1; skips && k <= steps; ++k) expected -= std::int64_t{1} << ((owner + k) % size);
          for (const auto& output : rig.outputs) ASSERT_EQ(output[segment.offset + i], expected);
        });
      }
    }
  }
}

/// The segments are one of this size and a protected one behind it.
TEST(SkipSegments, ASegmentIsSmallIfItHasFewerBytesThanSmallSays) {
  constexpr Rank size = 4;
  constexpr std::size_t element = sizeof(std::int64_t), others = 100;
  for (std::size_t small : {std::size_t{0}, std::size_t{1}, 8 * element - 1, 8 * element, 8 * element + 1}) {
    for (std::size_t count : {1u, 7u, 8u, 9u}) {
      DecodingRig rig(size, count + others);
      Call call = call_of({.steps = size - 1, .small = small, .segments = segments_of({count, others}, skip, never)});
      call.dtype = Dtype::I64;
      rig.run(rig.calls_with(call));
      const bool is_small = count * element < small;
      each_element(count, element, size, nullptr, [&](std::size_t i, Rank owner) {
        const std::int64_t expected = is_small ? (1 << size) - 1 : 1 << owner;
        for (const auto& output : rig.outputs) ASSERT_EQ(output[i], expected) << count << " elements, small " << small;
      });
    }
  }
}

TEST(SkipSegments, AThousandBiasesCostTheMessagesOfOne) {
  SkipRig<float> rig(4);
  std::vector<std::size_t> counts;
  for (int layer = 0; layer < 1000; ++layer) {
    counts.push_back(10);  // weights
    counts.push_back(2);   // biases: never skipped, and small as the weights
  }
  rig.fill(12000, 1);
  const Skip asked{.steps = 2, .small = 64, .segments = {}};
  Skip several = asked;
  const Segments segments = segments_of(counts, skip, never);
  several.segments = segments;
  EXPECT_EQ(messages_of(rig, call_of(several)), messages_of(rig, call_of({}))) << "all small: one dense part";
  std::vector<float> sums(12000);
  for (const auto& input : rig.inputs) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += input[i];
  }
  EXPECT_EQ(rig.outputs[2], sums);
}

TEST(SkipSegments, NeighboursThatAreTreatedAlikeTravelTogether) {
  SkipRig<float> rig(4);
  rig.fill(640, 1);
  const Segments one = segments_of({640}, skip, skip);
  const Segments many = segments_of({100, 200, 40, 300}, skip, skip);
  const Call whole = call_of({.steps = 2, .small = 16, .segments = one});
  EXPECT_EQ(messages_of(rig, call_of({.steps = 2, .small = 16, .segments = many})), messages_of(rig, whole));
  EXPECT_EQ(messages_of(rig, call_of({.steps = 2, .small = 16})), messages_of(rig, whole));
}

TEST(SkipSegments, SendWhatTheirStepsLeave) {
  constexpr std::size_t piece = 25 * sizeof(float);
  SkipRig<float> rig(4);
  rig.fill(300, 1);
  const Segments segments = segments_of({100, 100, 100}, skip, never);
  for (int steps = 0; steps < 4; ++steps) {
    const auto left = static_cast<std::uint64_t>(6 - steps);
    EXPECT_EQ(payload_of(rig, call_of({.steps = steps, .small = 16, .segments = segments})), (2 * left + 6) * piece);
  }
}

TEST(SkipSegments, WorkWithEveryAlgorithmThatSkips) {
  const std::vector<Rank> hosts = {0, 0, 1, 1, 2, 2};
  SkipRig<std::int64_t> rig(6, hosts);
  rig.decode(300);
  const Segments segments = segments_of({100, 3, 100, 97}, skip, never);
  for (const Algorithm* algorithm : skipping_algorithms(Collective::Allreduce)) {
    Call call = call_of({.steps = 1, .small = 32, .segments = segments}, algorithm->name.data());
    call.dtype = Dtype::I64;
    rig.run(rig.calls_with(call));
    for (const auto& output : rig.outputs) {
      for (std::size_t i = 0; i < 300; ++i) {
        const bool is_dense = (i >= 100 && i < 103) || i >= 203;
        ASSERT_TRUE(!is_dense || output[i] == 63) << algorithm->name << " element " << i;
      }
      ASSERT_TRUE(std::any_of(output.begin(), output.begin() + 100, [](std::int64_t sum) { return sum != 63; }));
      ASSERT_EQ(output, rig.outputs[0]);
    }
  }
}

/// Returns how many ranks contribute to a call's elements. It is the same number for all elements.
int contributors(DecodingRig& rig, const Skip& asked, std::vector<MethodState>& states) {
  Call call = call_of(asked);
  call.dtype = Dtype::I64;
  rig.run(
      rig.calls_with(call, [&](Call& one, Rank rank) { one.options.state = &states[static_cast<std::size_t>(rank)]; }));
  const int count = std::popcount(static_cast<std::uint64_t>(rig.outputs[0][0]));
  for (std::int64_t sum : rig.outputs[0]) EXPECT_EQ(std::popcount(static_cast<std::uint64_t>(sum)), count);
  return count;
}

TEST(SkipSchedule, TheFirstRunsAreDenseThenStepsFollowTheirStages) {
  DecodingRig rig(5, 40);
  std::vector<MethodState> states(5);
  const std::vector<SkipStage> stages = {
      {.from_run = 4, .steps = 3}, {.from_run = 6, .steps = 0}, {.from_run = 7, .steps = 4}};
  const Skip asked{.steps = 1, .mode = SkipMode::Random, .warm_up = 2, .schedule = stages};
  std::vector<int> counts;
  for (int run = 0; run < 9; ++run) counts.push_back(contributors(rig, asked, states));
  EXPECT_EQ(counts, (std::vector<int>{5, 5, 4, 4, 2, 2, 5, 1, 1}));
  EXPECT_EQ(states[3].runs, 9u);
  EXPECT_EQ(states[3].sampler.draw, 6u) << "dense runs draw nothing";
}

TEST(SkipSchedule, StepsMayChangeFromCallToCall) {
  DecodingRig rig(5, 40);
  std::vector<MethodState> states(5);
  for (int steps : {0, 3, 1, 4, 0}) EXPECT_EQ(contributors(rig, {.steps = steps}, states), 5 - steps);
}

TEST(SkipSchedule, ARestoredStateGoesOnWhereItWasSaved) {
  DecodingRig rig(5, 40);
  std::vector<MethodState> states(5);
  const std::vector<SkipStage> stages = {{.from_run = 4, .steps = 2}};
  const Skip asked{.steps = 1, .mode = SkipMode::Shuffled, .warm_up = 1, .schedule = stages};
  const auto run = [&] {
    contributors(rig, asked, states);
    return rig.outputs;
  };
  for (int k = 0; k < 3; ++k) run();
  const std::vector<MethodState> saved = states;
  std::vector<std::vector<std::vector<std::int64_t>>> first, second;
  for (int k = 0; k < 5; ++k) first.push_back(run());
  states = saved;
  for (int k = 0; k < 5; ++k) second.push_back(run());
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace lacuna::test
