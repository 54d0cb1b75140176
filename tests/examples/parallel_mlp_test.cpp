#include "examples/workloads/parallel_mlp/parallel_mlp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/skip/skip.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/examples/serial_training.hpp"
#include "tests/examples/training_fixture.hpp"
#include "tests/support/environment.hpp"

namespace lacuna::workloads {
namespace {

constexpr std::size_t pixels = 20;
constexpr std::size_t class_count = 10;

/// All parameters of a network: the weights of each layer by rows, then its biases.
using Parameters = std::vector<std::vector<float>>;

struct Case {
  GridSizes grid = {};
  std::size_t micro_batches = 1;
  std::size_t batch = 12;  // samples of a replica
  std::vector<std::size_t> hidden = {24, 16, 8};

  std::size_t layers() const { return hidden.size() + 1; }
  std::size_t inputs(std::size_t layer) const { return layer == 0 ? pixels : hidden[layer - 1]; }
  std::size_t outputs(std::size_t layer) const { return layer + 1 == layers() ? class_count : hidden[layer]; }
  bool by_rows(std::size_t layer) const { return (layers() - layer) % 2 == 1; }
};

class ParallelMlp : public TrainingFixture {
 protected:
  ParallelMlpOptions options_of(const Case& what) const {
    return {.model = {.folder = folder_, .batch = what.batch, .hidden = what.hidden, .learning_rate = 0.1},
            .grid = what.grid,
            .micro_batches = what.micro_batches};
  }
  Make make(const Case& what) const {
    return [options = options_of(what)] { return make_parallel_mlp(options); };
  }

  static Rank ranks_of(const Case& what) { return what.grid.data * what.grid.tensor * what.grid.pipeline; }

  /// Puts a rank's shares of the layers into their places. If another rank has the same ones, the bits must be equal.
  static void place(const Case& what, Rank rank, Workload& workload, Parameters& all) {
    const auto ranks = static_cast<std::size_t>(what.grid.tensor);
    const auto t = static_cast<std::size_t>(place_of(rank, what.grid).tensor);
    for (const StateItem& item : workload.state()) {
      if (item.name.find(".parameters") == std::string::npos) continue;
      const std::size_t l = std::stoul(item.name.substr(5));
      const std::size_t inputs = what.inputs(l), outputs = what.outputs(l);
      const std::size_t rows = what.by_rows(l) ? inputs / ranks : inputs;
      const std::size_t columns = what.by_rows(l) ? outputs : outputs / ranks;
      const std::size_t biases = l + 1 == what.layers() ? outputs : outputs / ranks;
      ASSERT_EQ(item.count, rows * columns + biases) << item.name;
      const float* from = static_cast<const float*>(item.data);
      all[l].resize(inputs * outputs + outputs, std::nanf(""));
      const auto put = [&](std::size_t at, float value) {
        float& to = all[l][at];
        EXPECT_TRUE(std::isnan(to) || to == value) << item.name << " differs between ranks";
        to = value;
      };
      const std::size_t row = what.by_rows(l) ? t * rows : 0, column = what.by_rows(l) ? 0 : t * columns;
      for (std::size_t i = 0; i < rows * columns; ++i)
        put((row + i / columns) * outputs + column + i % columns, from[i]);
      const std::size_t bias = l + 1 == what.layers() ? 0 : t * biases;
      for (std::size_t j = 0; j < biases; ++j) put(inputs * outputs + bias + j, from[rows * columns + j]);
    }
  }

  /// Returns the parameters after all steps, and the loss on the test images.
  std::pair<Parameters, double> trained_and_judged(const Case& what) {
    Parameters all(what.layers());
    std::mutex mutex;
    double loss = 0;
    on_ranks(ranks_of(what), make(what), task_of(dense), [&](Communicator& communicator, Workload& workload) {
      if (Status trained = train(workload, 0, steps); !trained) return trained;
      const Result<Metrics> metrics = workload.evaluate();
      if (!metrics) return metrics.status();
      const std::lock_guard lock(mutex);
      place(what, communicator.rank(), workload, all);
      loss = metrics->values.at(1).value;
      return Status::ok();
    });
    for (const auto& layer : all) {
      for (float value : layer) EXPECT_FALSE(std::isnan(value));
    }
    return {all, loss};
  }
  Parameters trained(const Case& what) { return trained_and_judged(what).first; }

  /// Returns the parameters by definition, with sums cut as the case cuts them.
  Parameters expected(const Case& what) const {
    SerialTraining training({.hidden = what.hidden,
                             .batch = what.batch,
                             .tensor = static_cast<std::size_t>(what.grid.tensor),
                             .replicas = static_cast<std::size_t>(what.grid.data),
                             .micro_batches = what.micro_batches,
                             .seed = 3},
                            folder_);
    for (std::uint64_t step = 0; step < steps; ++step) training.step(step);
    return training.parameters();
  }

  /// Returns what the other workload trains on one rank.
  Parameters data_parallel(const Case& what) {
    Parameters all;
    const Make make = [&] { return make_fashion_mnist(options_of(what).model); };
    on_ranks(1, make, task_of(dense), [&](Communicator&, Workload& workload) {
      if (Status trained = train(workload, 0, steps); !trained) return trained;
      for (const StateItem& item : workload.state()) {
        const float* data = static_cast<const float*>(item.data);
        if (item.name.ends_with(".parameters")) all.emplace_back(data, data + item.count);
      }
      return Status::ok();
    });
    return all;
  }
};

double largest_difference(const Parameters& a, const Parameters& b) {
  double largest = 0;
  for (std::size_t l = 0; l < a.size(); ++l) {
    EXPECT_EQ(a[l].size(), b[l].size());
    for (std::size_t i = 0; i < a[l].size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(a[l][i]) - static_cast<double>(b[l][i])));
    }
  }
  return largest;
}

TEST_F(ParallelMlp, OnOneRankHasTheBitsOfTheDataParallelWorkload) {
  const Case one;
  EXPECT_EQ(trained(one), data_parallel(one));
}

TEST_F(ParallelMlp, InAPipelineHasTheBitsOfOneRank) {
  for (const std::size_t micro_batches : {1U, 2U, 4U, 6U}) {
    const Parameters alone = trained({.grid = {1, 1, 1}, .micro_batches = micro_batches});
    for (const Rank stages : {2, 3, 4}) {
      EXPECT_EQ(trained({.grid = {1, 1, stages}, .micro_batches = micro_batches}), alone)
          << stages << " stages, " << micro_batches << " micro-batches";
    }
  }
}

TEST_F(ParallelMlp, InAPipelineWhoseMessagesWaitForTheirReceiverHasTheBitsOfOneRank) {
  const auto alone = trained_and_judged({.grid = {1, 1, 1}, .micro_batches = 12});
  const test::Variable changed("LACUNA_EAGER", "0");
  const auto staged = trained_and_judged({.grid = {1, 1, 4}, .micro_batches = 12});
  EXPECT_EQ(staged, alone);
}

TEST_F(ParallelMlp, OfTwoReplicasHasTheBitsOfOneWithTwoMicroBatches) {
  const Parameters alone = trained({.grid = {1, 1, 1}, .micro_batches = 2, .batch = 12});
  EXPECT_EQ(trained({.grid = {2, 1, 1}, .micro_batches = 1, .batch = 6}), alone);
  EXPECT_EQ(trained({.grid = {2, 1, 2}, .micro_batches = 1, .batch = 6}), alone);
}

TEST_F(ParallelMlp, HasTheBitsOfASerialTrainingWhoseSumsAreCutAlike) {
  for (const auto& hidden : {std::vector<std::size_t>{24, 16, 8}, std::vector<std::size_t>{18, 8}}) {
    for (const GridSizes& grid : {GridSizes{1, 1, 1}, GridSizes{2, 1, 1}, GridSizes{1, 2, 1}, GridSizes{1, 1, 2},
                                  GridSizes{2, 2, 1}, GridSizes{1, 2, 2}, GridSizes{2, 2, 2}}) {
      for (const std::size_t micro_batches : {1U, 3U}) {
        const Case what{.grid = grid, .micro_batches = micro_batches, .batch = 6, .hidden = hidden};
        EXPECT_EQ(trained(what), expected(what)) << grid.to_string() << ", " << micro_batches << " micro-batches";
      }
    }
  }
}

// Parameters are of the order of 1, where neighbouring floats differ by 1.2e-7. Twelve steps of sums in another order
// gather few roundings.
constexpr double rounding = 5e-7;

TEST_F(ParallelMlp, InAnyGridStaysWithinRoundingOfOneRank) {
  const Parameters alone = trained({.batch = 24});
  for (const GridSizes& grid : {GridSizes{2, 1, 1}, GridSizes{1, 2, 1}, GridSizes{1, 4, 1}, GridSizes{1, 1, 4},
                                GridSizes{4, 1, 2}, GridSizes{2, 2, 2}, GridSizes{1, 4, 2}}) {
    const Case what{.grid = grid, .micro_batches = 3, .batch = 24 / static_cast<std::size_t>(grid.data)};
    const double difference = largest_difference(trained(what), alone);
    EXPECT_LT(difference, rounding) << grid.to_string();
    EXPECT_GT(difference, 0) << grid.to_string() << ": were sums cut at all?";
  }
}

const MethodChoice skipping{
    .label = "skip", .algorithm = "skip_ring", .options = skip({.steps = 1, .mode = SkipMode::Random})};

TEST_F(ParallelMlp, ContinuedFromItsSavedStateHasTheSameBits) {
  const Case what{.grid = {2, 2, 2}, .micro_batches = 2};
  for (const MethodChoice& method : {dense, skipping, automatic(1)}) {
    on_ranks(8, make(what), task_of(method), [&](Communicator& communicator, Workload& workload) {
      return continue_from_middle(communicator, workload, task_of(method));
    });
  }
}

TEST_F(ParallelMlp, EvaluatesAsOneRankDoes) {
  std::vector<Metrics> found;
  for (const GridSizes& grid : {GridSizes{1, 1, 1}, GridSizes{1, 1, 3}, GridSizes{2, 2, 2}}) {
    const Case what{.grid = grid, .batch = 12 / static_cast<std::size_t>(grid.data)};
    on_ranks(ranks_of(what), make(what), task_of(dense), [&](Communicator& communicator, Workload& workload) {
      if (Status trained = train(workload, 0, steps); !trained) return trained;
      const Result<Metrics> metrics = workload.evaluate();
      if (metrics && communicator.rank() == communicator.size() - 1) found.push_back(*metrics);
      return metrics.status();
    });
  }
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].fingerprint, found[1].fingerprint);
  EXPECT_EQ(found[0].values[1].value, found[1].values[1].value);
  EXPECT_EQ(found[0].values[0].value, found[2].values[0].value);
  EXPECT_NEAR(found[0].values[1].value, found[2].values[1].value, 1e-5);
  EXPECT_EQ(found[0].details[0].name, "gradient_norm");
  EXPECT_NEAR(found[0].details[0].value, found[2].details[0].value, 1e-5);
}

TEST_F(ParallelMlp, FirstStageShowsTheLossOfTheLast) {
  std::vector<double> losses;
  for (const Rank stages : {1, 3}) {
    const Case what{.grid = {1, 1, stages}, .micro_batches = 3};
    on_ranks(stages, make(what), task_of(dense), [&](Communicator& communicator, Workload& workload) {
      const Result<double> loss = workload.step(0);
      if (loss && communicator.rank() == 0) losses.push_back(*loss);
      return loss.status();
    });
  }
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_GT(losses[0], 1);
}

TEST_F(ParallelMlp, EvaluationFindsReplicasThatDiffer) {
  const Case what{.grid = {2, 2, 2}};
  on_ranks(8, make(what), task_of(dense), [](Communicator& communicator, Workload& workload) {
    if (communicator.rank() == 6) *static_cast<float*>(workload.state().front().data) += 1;
    test::expect_error(workload.evaluate().status(), Code::Mismatch, "ranks 2 and 6");
    return Status::ok();
  });
}

/// Returns the bytes of payload that a rank sends in a step, by docs/parallelism.md. Sizes of the grid are 1 or 2, so
/// that the shares of a rank are whole.
std::uint64_t payload_of(const Case& what, Rank rank) {
  const GridPlace place = place_of(rank, what.grid);
  const auto data = static_cast<std::size_t>(what.grid.data), tensor = static_cast<std::size_t>(what.grid.tensor);
  const auto stage = static_cast<std::size_t>(place.pipeline), stages = static_cast<std::size_t>(what.grid.pipeline);
  const std::size_t begin = what.layers() * stage / stages, end = what.layers() * (stage + 1) / stages;
  std::size_t floats = 0;
  for (std::size_t l = begin; l < end; ++l) {
    const bool last = l + 1 == what.layers();
    const std::size_t shared = what.by_rows(l) ? what.outputs(l) : (l == 0 ? 0 : what.inputs(l));
    floats += 2 * what.batch * shared * (tensor - 1) / tensor;  // a forward and a backward call, or one allreduce
    const std::size_t part = what.inputs(l) * what.outputs(l) / tensor + what.outputs(l) / (last ? 1 : tensor);
    floats += 2 * part * (data - 1) / data;
  }
  if (stage + 1 < stages) floats += what.batch * what.outputs(end - 1) / tensor;
  if (stage > 0) floats += what.batch * what.inputs(begin) / tensor;
  return 4 * floats + (stage > 0 && stage + 1 == stages ? sizeof(double) : 0);
}

TEST_F(ParallelMlp, SendsTheBytesOfItsFormula) {
  for (const GridSizes& grid : {GridSizes{1, 1, 2}, GridSizes{1, 2, 1}, GridSizes{2, 1, 1}, GridSizes{2, 2, 2}}) {
    const Case what{.grid = grid, .micro_batches = 3};
    on_ranks(ranks_of(what), make(what), task_of(dense), [&](Communicator& communicator, Workload& workload) {
      if (Status together = communicator.call(barrier()); !together) return together;
      const std::uint64_t before = communicator.counters().payload_sent;
      if (Status trained = train(workload, 0, steps); !trained) return trained;
      if (Status together = communicator.call(barrier()); !together) return together;
      const std::uint64_t sent = communicator.counters().payload_sent - before;
      EXPECT_EQ(sent, steps * payload_of(what, communicator.rank())) << grid.to_string();
      return Status::ok();
    });
  }
}

TEST_F(ParallelMlp, WithAGridThatDoesNotFitIsRefused) {
  const auto refused = [this](const Case& what, Rank ranks, const std::string& part) {
    test::expect_error(check(options_of(what), ranks), Code::InvalidArgument, part);
  };
  refused({.grid = {2, 2, 2}}, 4, "data x tensor x pipeline = 2 x 2 x 2 = 8, but the job has 4 ranks");
  refused({.grid = {1, 1, 5}}, 5, "4 layers cannot be shared by pipeline = 5 stages; at most 4");
  refused({.micro_batches = 5}, 1, "12 samples cannot be cut into micro_batches = 5");
  refused({.grid = {1, 3, 1}}, 3, "16 hidden values cannot be shared evenly by tensor = 3 ranks");
  EXPECT_TRUE(check(options_of({.grid = {2, 2, 2}, .micro_batches = 6}), 8));
}

TEST_F(ParallelMlp, WithPixelsThatRanksCannotShareIsRefused) {
  const auto workload = make_parallel_mlp(options_of({.grid = {1, 8, 1}, .hidden = {24, 16}}));
  ASSERT_TRUE(workload->load());
  test::expect_error(workload->steps_per_epoch(8).status(), Code::InvalidArgument, "20 pixels");
}

TEST_F(ParallelMlp, WithMoreSamplesPerStepThanThereAreIsRefused) {
  const auto workload = make_parallel_mlp(options_of({.grid = {4, 1, 1}, .batch = 38}));
  ASSERT_TRUE(workload->load());
  test::expect_error(workload->steps_per_epoch(4).status(), Code::InvalidArgument, "38 samples for each of 4 replicas");
}

TEST_F(ParallelMlp, WithAMethodThatItsReplicasCannotRunIsRefused) {
  const MethodChoice method{.label = "skip 3", .algorithm = "skip_ring", .options = skip({.steps = 3})};
  auto world = test::local(4, Progress::Thread);
  test::on_each(world, [&](Communicator& rank) {
    const auto workload = make_parallel_mlp(options_of({.grid = {2, 1, 2}}));
    EXPECT_TRUE(workload->load());
    test::expect_error(workload->set_up(rank, task_of(method)), Code::InvalidArgument, "groups of data = 2 ranks");
  });
}

}  // namespace
}  // namespace lacuna::workloads
