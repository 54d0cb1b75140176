#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "examples/workloads/parallel_mlp/schedule.hpp"

namespace lacuna::workloads {
namespace {

constexpr Direction forward = Direction::Forward;
constexpr Direction backward = Direction::Backward;

template <class Check>
void for_all(const Check& check) {
  for (std::size_t stages = 1; stages <= 9; ++stages) {
    for (std::size_t micro_batches = 1; micro_batches <= 20; ++micro_batches) {
      SCOPED_TRACE(testing::Message() << stages << " stages, " << micro_batches << " micro-batches");
      check(stages, micro_batches);
    }
  }
}

TEST(PipelineSchedule, OfThreeStagesAndFourMicroBatchesIsTheTextbooks) {
  const std::vector<PipelineStep> first = {{forward, 0}, {forward, 1},  {forward, 2},  {backward, 0},
                                           {forward, 3}, {backward, 1}, {backward, 2}, {backward, 3}};
  const std::vector<PipelineStep> last = {{forward, 0}, {backward, 0}, {forward, 1}, {backward, 1},
                                          {forward, 2}, {backward, 2}, {forward, 3}, {backward, 3}};
  EXPECT_EQ(one_forward_one_backward(0, 3, 4), first);
  EXPECT_EQ(one_forward_one_backward(2, 3, 4), last);
}

TEST(PipelineSchedule, PassesEachMicroBatchForwardThenBackwardInAscendingOrder) {
  for_all([](std::size_t stages, std::size_t micro_batches) {
    for (std::size_t stage = 0; stage < stages; ++stage) {
      std::size_t forwards = 0, backwards = 0;
      for (const PipelineStep& step : one_forward_one_backward(stage, stages, micro_batches)) {
        std::size_t& next = step.direction == forward ? forwards : backwards;
        ASSERT_EQ(step.micro_batch, next++);
        ASSERT_LE(backwards, forwards);
      }
      ASSERT_EQ(forwards, micro_batches);
      ASSERT_EQ(backwards, micro_batches);
    }
  });
}

TEST(PipelineSchedule, HoldsNoMoreMicroBatchesThanStagesFromThereOn) {
  for_all([](std::size_t stages, std::size_t micro_batches) {
    for (std::size_t stage = 0; stage < stages; ++stage) {
      std::size_t alive = 0, most = 0;
      for (const PipelineStep& step : one_forward_one_backward(stage, stages, micro_batches)) {
        alive += step.direction == forward ? 1U : std::size_t(-1);
        most = std::max(most, alive);
      }
      ASSERT_EQ(most, most_alive(stage, stages, micro_batches));
      ASSERT_LE(most, stages - stage);
    }
  });
}

/// Runs the stages in turn, each as far as it gets. A message waits in a queue until it is received. A stage sends its
/// gradients from one buffer, so a backward pass waits until the last pass's message has been taken.
struct Stages {
  std::vector<std::vector<PipelineStep>> steps;
  std::vector<std::size_t> done;
  std::vector<std::deque<std::size_t>> values, gradients;  // the queues into each stage

  Stages(std::size_t stages, std::size_t micro_batches) : done(stages), values(stages + 1), gradients(stages + 1) {
    for (std::size_t s = 0; s < stages; ++s) steps.push_back(one_forward_one_backward(s, stages, micro_batches));
  }

  bool advance(std::size_t stage) {
    if (done[stage] == steps[stage].size()) return false;
    const auto [direction, micro_batch] = steps[stage][done[stage]];
    const bool ahead = direction == forward;
    const bool receives = ahead ? stage > 0 : stage + 1 < steps.size();
    std::deque<std::size_t>& from = ahead ? values[stage] : gradients[stage];
    if (receives && from.empty()) return false;
    if (!ahead && stage > 0 && !gradients[stage - 1].empty()) return false;
    if (receives) {
      EXPECT_EQ(from.front(), micro_batch);
      from.pop_front();
    }
    if (ahead && stage + 1 < steps.size()) values[stage + 1].push_back(micro_batch);
    if (!ahead && stage > 0) gradients[stage - 1].push_back(micro_batch);
    ++done[stage];
    return true;
  }
};

TEST(PipelineSchedule, EndsWithOneGradientMessageInFlightPerStage) {
  for_all([](std::size_t stages, std::size_t micro_batches) {
    Stages all(stages, micro_batches);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stage = 0; stage < stages; ++stage) moved = all.advance(stage) || moved;
    }
    for (std::size_t stage = 0; stage < stages; ++stage) ASSERT_EQ(all.done[stage], 2 * micro_batches);
  });
}

TEST(PipelineSchedule, TakesTheTimeOfTheMicroBatchesAndOneFillingOfThePipeline) {
  for_all([](std::size_t stages, std::size_t micro_batches) {
    Stages all(stages, micro_batches);
    std::size_t rounds = 0;
    for (bool moved = true; moved; ++rounds) {
      moved = false;
      const auto at_once = all;  // a message sent in a round arrives in the next
      std::vector<std::size_t> able;
      for (std::size_t stage = 0; stage < stages; ++stage) {
        Stages trial = at_once;
        if (trial.advance(stage)) able.push_back(stage);
      }
      for (std::size_t stage : able) moved = all.advance(stage) || moved;
    }
    ASSERT_EQ(rounds - 1, 2 * (micro_batches + stages - 1));
  });
}

}  // namespace
}  // namespace lacuna::workloads
