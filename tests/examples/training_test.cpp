#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/skip/skip.hpp"
#include "algorithms/topk/topk.hpp"
#include "examples/workloads/fashion_mnist/fashion_mnist.hpp"
#include "tests/examples/training_fixture.hpp"

namespace lacuna::workloads {
namespace {

constexpr Rank ranks = 4;

const MethodChoice skipping{.label = "skip", .options = skip({.steps = 2, .mode = SkipMode::Random})};
const MethodChoice scheduled{.label = "scheduled",
                             .options = skip({.steps = 1,
                                              .mode = SkipMode::Shuffled,
                                              .scale = SkipScale::Renormalised,
                                              .warm_up = 2,
                                              .schedule = {{4, 3}, {9, 1}}})};
const MethodChoice feeding{.label = "feedback",
                           .options = skip({.steps = 2, .mode = SkipMode::Random, .feedback = true})};
const MethodChoice corrected{.label = "corrected",
                             .options = topk({.density = 0.1, .momentum = 0.9, .clip = 1, .warm_up = 9})};

class Training : public TrainingFixture {
 protected:
  Make with_batch(std::size_t batch, std::vector<std::size_t> filters = {}) {
    return [=, this] {
      return make_fashion_mnist({.folder = folder_,
                                 .batch = batch,
                                 .filters = filters,
                                 .hidden = {23, 9},
                                 .learning_rate = 0.1,
                                 .decay = Decay::Linear});
    };
  }
  std::vector<Make> networks(std::size_t batch) { return {with_batch(batch), with_batch(batch, {4, 6})}; }
};

TEST_F(Training, LeavesEqualBitsOnAllRanks) {
  for (const Make& make : networks(3)) {
    for (const MethodChoice& method : {dense, skipping, scheduled, feeding, automatic(2), corrected}) {
      on_ranks(ranks, make, task_of(method), [](Communicator&, Workload& workload) {
        if (Status trained = train(workload, 0, steps); !trained) return trained;
        return workload.evaluate().status();
      });
    }
  }
}

TEST_F(Training, OnSeveralRanksFollowsTrainingOnOne) {
  for (const bool convolutions : {false, true}) {
    std::vector<double> losses, norms;
    for (const Rank size : {1, ranks}) {
      const Make make = networks(12 / static_cast<std::size_t>(size))[convolutions];
      on_ranks(size, make, task_of(dense), [&](Communicator& communicator, Workload& workload) {
        if (Status trained = train(workload, 0, steps); !trained) return trained;
        Result<Metrics> metrics = workload.evaluate();
        if (metrics && communicator.rank() == 0) {
          losses.push_back(metrics->values.at(1).value);
          norms.push_back(metrics->details.at(0).value);
        }
        return metrics.status();
      });
    }
    ASSERT_EQ(losses.size(), 2U);
    EXPECT_NEAR(losses[0], losses[1], 1e-4);
    EXPECT_NEAR(norms[0], norms[1], 1e-4 * norms[0]);
    EXPECT_GT(norms[0], 0);
  }
}

TEST_F(Training, ContinuedFromItsSavedStateHasTheSameBits) {
  for (const Make& make : networks(3)) {
    for (const MethodChoice& method : {skipping, scheduled, feeding, automatic(2), corrected}) {
      on_ranks(ranks, make, task_of(method), [&](Communicator& communicator, Workload& workload) {
        return continue_from_middle(communicator, workload, task_of(method));
      });
    }
  }
}

TEST_F(Training, MomentumOfTheMethodStandsForTheTrainers) {
  const double half = 0.5;  // its products are exact
  const Make make = [&] {
    return make_fashion_mnist({.folder = folder_, .batch = 12, .hidden = {9}, .momentum = half});
  };
  const MethodChoice everything{.label = "everything",
                                .options = topk({.density = 1, .momentum = half, .masking = false})};
  std::vector<std::string> parameters;
  for (const MethodChoice& method : {dense, everything}) {
    on_ranks(1, make, task_of(method), [&](Communicator&, Workload& workload) {
      if (Status trained = train(workload, 0, steps); !trained) return trained;
      parameters.push_back(bytes_of(workload.state()).front());
      return Status::ok();
    });
  }
  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_TRUE(parameters[0] == parameters[1]);
}

TEST_F(Training, SavesWhatTheMethodKeepsOfEachLayer) {
  const auto saved = [this](const MethodChoice& method) {
    std::vector<std::string> names;
    on_ranks(ranks, with_batch(3), task_of(method), [&](Communicator& communicator, Workload& workload) {
      if (communicator.rank() != 0) return Status::ok();
      for (const StateItem& item : workload.state()) {
        if (item.name.starts_with("layer0.")) names.push_back(item.name.substr(7));
      }
      return Status::ok();
    });
    std::sort(names.begin(), names.end());
    return names;
  };
  using Names = std::vector<std::string>;
  const Names without = saved(dense), with = saved(feeding);
  Names more;
  std::set_difference(with.begin(), with.end(), without.begin(), without.end(), std::back_inserter(more));
  EXPECT_EQ(more, Names{"residual"});
  for (const char* name : {"runs", "sampler"}) EXPECT_EQ(std::count(with.begin(), with.end(), name), 1) << name;
}

TEST_F(Training, WithASavedStateThatIsDamagedDoesNotContinue) {
  on_ranks(ranks, with_batch(3), task_of(automatic(2)), [](Communicator&, Workload& workload) {
    if (Status trained = train(workload, 0, 1); !trained) return trained;
    const StateItem saved = workload.state().back();
    EXPECT_EQ(saved.name, "importance");
    for (const std::int64_t length : {std::int64_t{8}, std::int64_t{-1}}) {
      *static_cast<std::int64_t*>(saved.data) = length;
      EXPECT_EQ(workload.restored().code(), Code::InvalidArgument);
    }
    return Status::ok();
  });
}

TEST_F(Training, EvaluationTellsWhichLayersAreImportant) {
  on_ranks(ranks, with_batch(3), task_of(automatic(2)), [](Communicator&, Workload& workload) {
    if (Status trained = train(workload, 0, steps); !trained) return trained;
    const Result<Metrics> metrics = workload.evaluate();
    if (!metrics) return metrics.status();
    std::vector<std::string> names;
    std::size_t important = 0;
    for (const Metric& metric : metrics->details) {
      names.push_back(metric.name);
      if (metric.name.ends_with(".dense")) important += metric.value == 1;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"gradient_norm", "layer0.share", "layer0.dense", "layer1.share",
                                               "layer1.dense", "layer2.share", "layer2.dense"}));
    EXPECT_GT(important, 0U);
    EXPECT_LT(important, 3U);
    return Status::ok();
  });
}

TEST_F(Training, OnFewerImagesUsesTheFirstOnes) {
  const std::unique_ptr<Workload> some = make_fashion_mnist({.folder = folder_, .images = 90, .batch = 3});
  ASSERT_TRUE(some->load());
  EXPECT_EQ(*some->steps_per_epoch(ranks), 7U);
  EXPECT_EQ(make_fashion_mnist({.folder = folder_, .images = 151})->load().code(), Code::InvalidArgument);
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
