#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "examples/workloads/fashion_mnist/fashion_mnist.hpp"
#include "tests/bindings/training_fixture.hpp"

namespace lacuna::workloads {
namespace {

constexpr Rank ranks = 4;

const Method skipping{.label = "skip", .algorithm = "skip_ring", .skip_steps = 2, .skip_mode = SkipMode::Random};

class Training : public TrainingFixture {
 protected:
  Make with_batch(std::size_t batch) {
    return [this, batch] {
      return make_fashion_mnist(
          {.folder = folder_, .batch = batch, .hidden = {23, 9}, .learning_rate = 0.1, .decay = Decay::Linear});
    };
  }
};

TEST_F(Training, LeavesEqualBitsOnAllRanks) {
  for (const Method& method : {dense, skipping}) {
    on_ranks(ranks, with_batch(3), task_of(method), [](Communicator&, Workload& workload) {
      if (Status trained = train(workload, 0, steps); !trained) return trained;
      return workload.evaluate().status();
    });
  }
}

TEST_F(Training, OnSeveralRanksFollowsTrainingOnOne) {
  std::vector<double> losses;
  for (const Rank size : {1, ranks}) {
    const Make make = with_batch(12 / static_cast<std::size_t>(size));
    on_ranks(size, make, task_of(dense), [&](Communicator& communicator, Workload& workload) {
      if (Status trained = train(workload, 0, steps); !trained) return trained;
      Result<Metrics> metrics = workload.evaluate();
      if (metrics && communicator.rank() == 0) losses.push_back(metrics->values.at(1).value);
      return metrics.status();
    });
  }
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_NEAR(losses[0], losses[1], 1e-4);
}

TEST_F(Training, ContinuedFromItsSavedStateHasTheSameBits) {
  on_ranks(ranks, with_batch(3), task_of(skipping), [](Communicator& communicator, Workload& workload) {
    return continue_from_middle(communicator, workload, task_of(skipping));
  });
}

TEST_F(Training, EvaluationFindsParametersThatDifferBetweenRanks) {
  on_ranks(ranks, with_batch(3), task_of(dense), [](Communicator& communicator, Workload& workload) {
    if (communicator.rank() == 2) *static_cast<float*>(workload.state().front().data) += 1;
    EXPECT_EQ(workload.evaluate().status().code(), Code::Mismatch);
    return Status::ok();
  });
}

TEST_F(Training, WithMoreSamplesPerStepThanThereAreIsRefused) {
  const std::unique_ptr<Workload> workload = make_fashion_mnist({.folder = folder_, .batch = 38});
  ASSERT_TRUE(workload->load());
  EXPECT_TRUE(workload->steps_per_epoch(3));
  EXPECT_EQ(workload->steps_per_epoch(4).status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace lacuna::workloads
