#include "examples/workloads/embeddings/embeddings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "algorithms/blocks/blocks.hpp"
#include "algorithms/ok_topk/ok_topk.hpp"
#include "algorithms/skip/skip.hpp"
#include "algorithms/topk/topk.hpp"
#include "examples/workloads/embeddings/click_scores.hpp"
#include "examples/workloads/embeddings/clicks.hpp"
#include "examples/workloads/fashion_mnist/batches.hpp"
#include "tests/examples/numeric_clicks.hpp"
#include "tests/examples/training_fixture.hpp"

namespace lacuna::workloads {
namespace {

constexpr Rank ranks = 4;

MethodChoice for_table(MethodOptions options) {
  return {.label = "table", .options = std::move(options), .only = "table"};
}

MethodChoice lists_of(std::size_t length) {
  MethodChoice choice = for_table(sparse_blocks({.block = length}));
  choice.lists = true;
  return choice;
}

const std::vector<MethodChoice> methods = {
    dense,
    for_table(topk({.density = 0.05})),
    for_table(ok_topk({.density = 0.05, .tau_prime = 4, .tau = 3})),
    for_table(skip({.steps = 2, .mode = SkipMode::Random})),
    for_table(sparse_blocks({.block = 4})),
    lists_of(4),
    {.label = "all", .options = topk({.density = 0.05})},
    {.label = "perceptron", .options = topk({.density = 0.1}), .only = "perceptron"},
};

EmbeddingsOptions small(std::size_t batch, Shards shards = Shards::Mixed) {
  return {.vocabularies = {40, 11, 5},
          .samples = 150,
          .test_samples = 37,
          .shards = shards,
          .batch = batch,
          .width = 4,
          .hidden = {6},
          .learning_rate = 0.5,
          .table_learning_rate = 2};
}

class EmbeddingsTraining : public TrainingFixture {
 protected:
  static Make made(const EmbeddingsOptions& options) {
    return [=] { return make_embeddings(options); };
  }

  /// Returns the values of a state's item, on one rank after training.
  static std::vector<float> values(const std::vector<StateItem>& items, const std::string& name) {
    for (const StateItem& item : items) {
      if (item.name != name) continue;
      const auto* begin = static_cast<const float*>(item.data);
      return {begin, begin + item.count};
    }
    ADD_FAILURE() << "the state has no " << name;
    return {};
  }
};

TEST_F(EmbeddingsTraining, LeavesEqualBitsOnAllRanks) {
  for (const Shards shards : {Shards::Mixed, Shards::Own}) {
    for (const MethodChoice& method : methods) {
      on_ranks(ranks, made(small(3, shards)), task_of(method), [](Communicator&, Workload& workload) {
        if (Status trained = train(workload, 0, steps); !trained) return trained;
        return workload.evaluate().status();
      });
    }
  }
}

/// Trains by the definition, in one thread and in f64, on the global batches.
TEST_F(EmbeddingsTraining, FollowsASerialTrainingOnAnyNumberOfRanks) {
  const EmbeddingsOptions options = small(12);
  NumericClicks serial({.fields = 3, .rows = 56, .width = 4, .hidden = {6}});
  on_ranks(1, made(options), task_of(dense), [&](Communicator&, Workload& workload) {
    for (float value : values(workload.state(), "table.parameters")) serial.table.push_back(value);
    for (float value : values(workload.state(), "perceptron.parameters")) serial.perceptron.push_back(value);
    return Status::ok();
  });
  const Clicks clicks = ClickSource(options.vocabularies, options.data_seed).make(0, options.samples);
  Batches batches({options.samples, 12, 1}, 0, task_of(dense).seed);
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::vector<std::uint32_t> rows;
    std::vector<std::uint8_t> labels;
    for (const std::uint32_t sample : batches.take(step)) {
      rows.insert(rows.end(), clicks.sample(sample).begin(), clicks.sample(sample).end());
      labels.push_back(clicks.labels[sample]);
    }
    const std::vector<double> by_table = serial.gradient(serial.table, rows, labels);
    const std::vector<double> by_weights = serial.gradient(serial.perceptron, rows, labels);
    for (std::size_t i = 0; i < by_table.size(); ++i) serial.table[i] -= options.table_learning_rate * by_table[i];
    for (std::size_t i = 0; i < by_weights.size(); ++i) serial.perceptron[i] -= options.learning_rate * by_weights[i];
  }
  for (const Rank size : {1, 2, 3, 4}) {
    on_ranks(size, made(small(12 / static_cast<std::size_t>(size))), task_of(dense),
             [&](Communicator&, Workload& workload) {
               if (Status trained = train(workload, 0, steps); !trained) return trained;
               const std::vector<float> table = values(workload.state(), "table.parameters");
               const std::vector<float> weights = values(workload.state(), "perceptron.parameters");
               EXPECT_EQ(table.size(), serial.table.size());
               EXPECT_EQ(weights.size(), serial.perceptron.size());
               for (std::size_t i = 0; i < table.size(); ++i) EXPECT_NEAR(table[i], serial.table[i], 2e-5) << i;
               for (std::size_t i = 0; i < weights.size(); ++i)
                 EXPECT_NEAR(weights[i], serial.perceptron[i], 2e-5) << i;
               return Status::ok();
             });
  }
}

TEST_F(EmbeddingsTraining, ContinuedFromItsSavedStateHasTheSameBits) {
  for (const MethodChoice& method : methods) {
    on_ranks(ranks, made(small(3, Shards::Own)), task_of(method), [&](Communicator& communicator, Workload& workload) {
      return continue_from_middle(communicator, workload, task_of(method));
    });
  }
}

TEST_F(EmbeddingsTraining, AMethodForOneTensorKeepsNothingOfTheOther) {
  const auto residuals = [](const MethodChoice& method) {
    std::vector<std::string> names;
    on_ranks(1, made(small(3)), task_of(method), [&](Communicator&, Workload& workload) {
      for (const StateItem& item : workload.state()) {
        if (item.name.ends_with("residual")) names.push_back(item.name);
      }
      return Status::ok();
    });
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(residuals({.label = "all", .options = topk({.density = 0.1})}),
            (Names{"table.residual", "perceptron.residual"}));
  EXPECT_EQ(residuals(for_table(topk({.density = 0.1}))), Names{"table.residual"});
  EXPECT_EQ(residuals({.label = "other", .options = topk({.density = 0.1}), .only = "perceptron"}),
            Names{"perceptron.residual"});
}

/// With all entries sent, the method adds up what the dense call adds up.
TEST_F(EmbeddingsTraining, ALosslessMethodForTheTableTrainsAsTheDenseCall) {
  std::vector<std::vector<float>> tables;
  for (const MethodChoice& method : {dense, for_table(topk({.density = 1, .feedback = false}))}) {
    on_ranks(ranks, made(small(3)), task_of(method), [&](Communicator& communicator, Workload& workload) {
      if (Status trained = train(workload, 0, steps); !trained) return trained;
      if (communicator.rank() == 0) tables.push_back(values(workload.state(), "table.parameters"));
      return Status::ok();
    });
  }
  ASSERT_EQ(tables.size(), 2u);
  for (std::size_t i = 0; i < tables[0].size(); ++i) EXPECT_NEAR(tables[0][i], tables[1][i], 1e-5) << i;
}

TEST_F(EmbeddingsTraining, ListsOfRowsTrainAsBlocksOfARow) {
  for (const Rank size : {1, 3, 4}) {
    std::vector<std::vector<float>> tables;
    for (const MethodChoice& method : {for_table(sparse_blocks({.block = 4})), lists_of(4)}) {
      on_ranks(size, made(small(3, Shards::Own)), task_of(method), [&](Communicator& communicator, Workload& workload) {
        if (Status trained = train(workload, 0, steps); !trained) return trained;
        if (communicator.rank() == 0) tables.push_back(values(workload.state(), "table.parameters"));
        return Status::ok();
      });
    }
    ASSERT_EQ(tables.size(), 2u);
    EXPECT_EQ(tables[0], tables[1]) << size;
  }
}

TEST_F(EmbeddingsTraining, ListsThatCantHoldTheRowsAreRefused) {
  const auto refusal = [](const MethodChoice& method) {
    auto world = Communicator::local(1);
    const auto workload = make_embeddings(small(3));
    EXPECT_TRUE(workload->load());
    return workload->set_up(world->front(), task_of(method)).to_string();
  };
  EXPECT_EQ(refusal(lists_of(5)),
            "invalid argument: a row of the table has 4 numbers, but blocks:block=5 takes lists of entries of 5");
  MethodChoice elsewhere = lists_of(4);
  elsewhere.only = "perceptron";
  EXPECT_EQ(
      refusal(elsewhere),
      "invalid argument: 'lists' is for the tensor table, but 'only' is perceptron: it must be table or be left out");
}

TEST_F(EmbeddingsTraining, TheGradientsRowsOfOtherSamplesAreZeroAndEvaluationTellsHowManyAreNot) {
  constexpr std::size_t width = 4, rows = 56;
  std::mutex mutex;
  double own = 0;
  std::vector<bool> all(rows);
  std::vector<double> told;
  Task task = task_of(dense);
  std::vector<std::vector<bool>> last(static_cast<std::size_t>(ranks));
  thread_local std::size_t here = 0;
  task.tap = [&](const StateItem& gradient, Rank) {
    if (gradient.name != "table") return;
    const auto* numbers = static_cast<const float*>(gradient.data);
    std::vector<bool> touched(rows);
    for (std::size_t i = 0; i < rows * width; ++i) touched[i / width] = touched[i / width] || numbers[i] != 0;
    last[here] = touched;
  };
  on_ranks(ranks, made(small(2)), task, [&](Communicator& communicator, Workload& workload) {
    here = static_cast<std::size_t>(communicator.rank());
    if (Status trained = train(workload, 0, steps); !trained) return trained;
    const Result<Metrics> metrics = workload.evaluate();
    if (!metrics) return metrics.status();
    const std::scoped_lock lock(mutex);
    for (std::size_t row = 0; row < rows; ++row) {
      own += last[here][row] ? 1.0 / rows / ranks : 0;
      if (last[here][row]) all[row] = true;
    }
    const auto touched = std::count(last[here].begin(), last[here].end(), true);
    EXPECT_GE(touched, 3);
    EXPECT_LE(touched, 2 * 3) << "two samples have no more rows";
    EXPECT_EQ(metrics->details.at(0).name, "row_density");
    EXPECT_EQ(metrics->details.at(1).name, "union_row_density");
    for (const Metric& metric : metrics->details) told.push_back(metric.value);
    return Status::ok();
  });
  ASSERT_EQ(told.size(), 2u * ranks);
  const double joint = static_cast<double>(std::count(all.begin(), all.end(), true)) / rows;
  for (std::size_t i = 0; i < told.size(); i += 2) {
    EXPECT_NEAR(told[i], own, 1e-12);
    EXPECT_NEAR(told[i + 1], joint, 1e-12);
  }
  EXPECT_GT(joint, own);
}

TEST_F(EmbeddingsTraining, LearnsWhatCanBeLearnt) {
  EmbeddingsOptions options{.vocabularies = {50, 30, 20, 10}, .samples = 20000, .test_samples = 2000, .batch = 64};
  options.learning_rate = 0.1;
  constexpr std::uint64_t many = 600;
  const ClickSource source(options.vocabularies, options.data_seed);
  const Clicks test = source.make(options.samples, options.test_samples);
  std::vector<float> truth;
  for (std::size_t i = 0; i < test.count(); ++i) truth.push_back(static_cast<float>(source.log_odds(test.sample(i))));
  const ClickScores best = click_scores(truth, test.labels);
  on_ranks(1, made(options), task_of(dense, many), [&](Communicator&, Workload& workload) {
    const Result<Metrics> before = workload.evaluate();
    if (!before) return before.status();
    EXPECT_NEAR(before->values.at(0).value, 0.5, 0.06);
    if (Status trained = train(workload, 0, many); !trained) return trained;
    const Result<Metrics> after = workload.evaluate();
    if (!after) return after.status();
    EXPECT_EQ(after->values.at(0).name, "test_auc");
    EXPECT_GT(after->values.at(0).value, best.auc - 0.04);
    EXPECT_LT(after->values.at(0).value, best.auc + 0.01);
    EXPECT_LT(after->values.at(1).value, best.log_loss + 0.04);
    EXPECT_GT(after->values.at(2).value, best.accuracy - 0.04);
    return Status::ok();
  });
}

TEST_F(EmbeddingsTraining, EvaluationFindsParametersThatDifferBetweenRanks) {
  for (std::size_t item : {0u, 1u}) {
    on_ranks(ranks, made(small(3)), task_of(dense), [&](Communicator& communicator, Workload& workload) {
      if (communicator.rank() == 2) *static_cast<float*>(workload.state().at(item).data) += 1;
      EXPECT_EQ(workload.evaluate().status().code(), Code::Mismatch);
      return Status::ok();
    });
  }
}

TEST_F(EmbeddingsTraining, WithMoreSamplesPerStepThanThereAreIsRefused) {
  const std::unique_ptr<Workload> workload = make_embeddings(small(38));
  ASSERT_TRUE(workload->load());
  EXPECT_EQ(*workload->steps_per_epoch(3), 1u);
  EXPECT_EQ(workload->steps_per_epoch(4).status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace lacuna::workloads
