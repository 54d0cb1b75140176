#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/ok_topk/ok_topk.hpp"
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

const MethodChoice near_optimal{.label = "ok", .options = ok_topk({.density = 0.1, .tau_prime = 4, .tau = 3})};

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
    for (const MethodChoice& method : {dense, skipping, scheduled, feeding, automatic(2), corrected, near_optimal}) {
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
    for (const MethodChoice& method : {skipping, scheduled, feeding, automatic(2), corrected, near_optimal}) {
      on_ranks(ranks, make, task_of(method), [&](Communicator& communicator, Workload& workload) {
        return continue_from_middle(communicator, workload, task_of(method));
      });
    }
  }
}

TEST_F(Training, MomentumOfTheMethodStandsForTheTrainers) {
  const double half = 0.5;  // products with it are exact
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

/// The parameters with which training on that many ranks ends, layer by layer.
using Parameters = std::vector<std::string>;

class TrainingForms : public Training {
 protected:
  Parameters parameters(Rank size, const MethodChoice& method, FashionMnistOptions options) {
    options.folder = folder_;
    Parameters all;
    on_ranks(
        size, [=] { return make_fashion_mnist(options); }, task_of(method),
        [&](Communicator& communicator, Workload& workload) {
          Status done = train(workload, 0, steps);
          if (done) done = workload.evaluate().status();
          if (done && communicator.rank() == 0) {
            for (const StateItem& item : workload.state()) {
              if (item.name.ends_with("parameters")) all.push_back(bytes_of({item}).front());
            }
          }
          return done;
        });
    return all;
  }
};

/// With a rate that is a power of two products are exact, so that it does not matter when they are made.
TEST_F(TrainingForms, AveragingStepsIsAveragingGradientsWhereTheRateStaysTheSame) {
  FashionMnistOptions options{.batch = 3, .hidden = {9}, .learning_rate = 0.25, .momentum = 0.5};
  for (const MethodChoice& method : {dense, near_optimal}) {
    options.averaged = Averaged::Gradients;
    const Parameters gradients = parameters(ranks, method, options);
    options.averaged = Averaged::Steps;
    EXPECT_TRUE(parameters(ranks, method, options) == gradients) << method.label;
    ASSERT_EQ(gradients.size(), 2u);
  }
}

/// If residuals hold gradients, a rate that falls changes their weight.
TEST_F(TrainingForms, ResidualsOfStepsKeepTheRateOfTheirStep) {
  FashionMnistOptions options{.batch = 3, .hidden = {9}, .learning_rate = 0.25, .momentum = 0, .decay = Decay::Linear};
  const Parameters gradients = parameters(ranks, near_optimal, options);
  options.averaged = Averaged::Steps;
  EXPECT_FALSE(parameters(ranks, near_optimal, options) == gradients);
}

TEST_F(TrainingForms, BucketsOfLayersAreAveragedAsOneTensor) {
  FashionMnistOptions options{.batch = 12, .hidden = {23, 9}};
  const Parameters alone = parameters(1, dense, options);
  ASSERT_EQ(alone.size(), 3u);
  for (std::size_t bytes : {1u, 100u, 900u, 1000000u}) {
    options.bucket_bytes = bytes;
    EXPECT_TRUE(parameters(1, dense, options) == alone) << bytes;
    for (const MethodChoice& method : {near_optimal, automatic(2), feeding}) {
      EXPECT_EQ(parameters(ranks, method, options).size(), 3u) << method.label << " " << bytes;
    }
  }
}

/// A bucket takes layers, from the last one on, until they have that many bytes. The layers have 20 x 23, 23 x 9 and 9
/// x 10 weights.
TEST_F(TrainingForms, BucketsHoldNeighbouringLayersUpToASize) {
  const std::pair<std::size_t, std::vector<std::string>> cases[] = {{0, {"layer0.", "layer1.", "layer2."}},
                                                                    {4 * 100, {"layer0.", "layer1.", "layer2."}},
                                                                    {4 * 101, {"layer0.", "layer1-2."}},
                                                                    {4 * 500, {"layer0-2."}}};
  for (const auto& [bytes, expected] : cases) {
    const FashionMnistOptions options{.folder = folder_, .batch = 3, .hidden = {23, 9}, .bucket_bytes = bytes};
    std::vector<std::string> names;
    on_ranks(
        1, [=] { return make_fashion_mnist(options); }, task_of(near_optimal),
        [&](Communicator&, Workload& workload) {
          for (const StateItem& item : workload.state()) {
            const auto at = item.name.find("residual");
            if (at != std::string::npos) names.push_back(item.name.substr(0, at));
          }
          return Status::ok();
        });
    EXPECT_EQ(names, expected) << bytes;
  }
}

TEST_F(TrainingForms, XiIsNothingWhereTheBestElementsComeOutAndLoggedWhereNot) {
  const FashionMnistOptions options{.folder = folder_, .batch = 3, .hidden = {23, 9}, .xi_every = 3};
  const MethodChoice momentum{.label = "momentum", .options = ok_topk({.density = 0.1, .momentum = 0.5})};
  const auto xi_of = [&](Rank size, const MethodChoice& method) {
    double xi = -1;
    on_ranks(
        size, [=] { return make_fashion_mnist(options); }, task_of(method),
        [&](Communicator& communicator, Workload& workload) {
          if (Status trained = train(workload, 0, steps); !trained) return trained;
          Result<Metrics> metrics = workload.evaluate();
          if (metrics && communicator.rank() == 0) xi = metrics->details.back().value;
          EXPECT_TRUE(!metrics || metrics->details.back().name == "xi");
          return metrics.status();
        });
    return xi;
  };
  const MethodChoice best{.label = "best", .options = ok_topk({.density = 0.1, .tau_prime = 1})};
  EXPECT_EQ(xi_of(1, best), 0) << "one rank selects the best itself";
  const auto sent = [&](std::uint64_t xi_every) {
    std::uint64_t bytes = 0;
    FashionMnistOptions measured = options;
    measured.xi_every = xi_every;
    on_ranks(
        ranks, [=] { return make_fashion_mnist(measured); }, task_of(near_optimal),
        [&](Communicator& communicator, Workload& workload) {
          const Status trained = train(workload, 0, steps);
          if (communicator.rank() == 0) bytes = communicator.counters().payload_sent;
          return trained;
        });
    return bytes;
  };
  EXPECT_EQ(sent(1), sent(0)) << "what is measured is not counted with the averages";
  EXPECT_LT(xi_of(ranks, dense), 1e-5);
  for (const MethodChoice& method : {near_optimal, momentum, skipping}) {
    const double xi = xi_of(ranks, method);
    EXPECT_TRUE(std::isfinite(xi) && xi > 1e-3) << method.label << " " << xi;
  }
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
