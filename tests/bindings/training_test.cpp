#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "examples/workloads/fashion_mnist/fashion_mnist.hpp"
#include "examples/workloads/fashion_mnist/random.hpp"
#include "tests/bindings/idx_fixture.hpp"

namespace lacuna::workloads {
namespace {

constexpr std::uint64_t steps = 12;
constexpr Rank ranks = 4;

/// What a rank does with its own workload; the first error ends it.
using Work = std::function<Status(Communicator&, Workload&)>;

class Training : public IdxFixture {
 protected:
  Training() {
    write_images("train", 150);
    write_images("t10k", 37);
  }

  void write_images(const std::string& prefix, std::size_t count) {
    const auto low = static_cast<std::uint8_t>(count);
    std::vector<std::uint8_t> images = {0, 0, 8, 3, 0, 0, 0, low, 0, 0, 0, 5, 0, 0, 0, 4};
    std::vector<std::uint8_t> labels = {0, 0, 8, 1, 0, 0, 0, low};
    SplitMix random(count, 0);
    for (std::size_t i = 0; i < 20 * count; ++i) images.push_back(static_cast<std::uint8_t>(random.below(256)));
    for (std::size_t i = 0; i < count; ++i) labels.push_back(static_cast<std::uint8_t>(random.below(10)));
    write(prefix + "-images-idx3-ubyte.gz", images);
    write(prefix + "-labels-idx1-ubyte.gz", labels);
  }

  /// Runs `work` on that many ranks of this process, each with a workload that has been loaded and set up.
  void on_ranks(Rank size, std::size_t batch, const Method& method, const Work& work) {
    Result<std::vector<Communicator>> world = Communicator::local(size);
    ASSERT_TRUE(world) << world.status().to_string();
    std::vector<Status> outcomes(world->size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < world->size(); ++rank) {
      threads.emplace_back([&, rank] { outcomes[rank] = on_rank((*world)[rank], batch, method, work); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& outcome : outcomes) EXPECT_TRUE(outcome) << outcome.to_string();
  }

  Status on_rank(Communicator& communicator, std::size_t batch, const Method& method, const Work& work) {
    const FashionMnistOptions options{
        .folder = folder_, .batch = batch, .hidden = {23, 9}, .learning_rate = 0.1, .decay = Decay::Linear};
    const std::unique_ptr<Workload> workload = make_fashion_mnist(options);
    if (Status loaded = workload->load(); !loaded) return loaded;
    if (Status ready = workload->set_up(communicator, {.method = method, .seed = 3, .steps = steps}); !ready) {
      return ready;
    }
    return work(communicator, *workload);
  }

  static Status train(Workload& workload, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t step = begin; step < end; ++step) {
      if (Result<double> done = workload.step(step); !done) return done.status();
    }
    return Status::ok();
  }
};

const Method dense{.label = "dense", .algorithm = "ring"};
const Method skipping{.label = "skip", .algorithm = "skip_ring", .skip_steps = 2, .skip_mode = SkipMode::Random};

std::vector<std::string> bytes_of(const std::vector<StateItem>& items) {
  std::vector<std::string> bytes;
  for (const StateItem& item : items) {
    bytes.emplace_back(static_cast<const char*>(item.data), item.count * size_of(item.dtype));
  }
  return bytes;
}

TEST_F(Training, LeavesEqualBitsOnAllRanks) {
  for (const Method& method : {dense, skipping}) {
    on_ranks(ranks, 3, method, [](Communicator&, Workload& workload) {
      if (Status trained = train(workload, 0, steps); !trained) return trained;
      return workload.evaluate().status();
    });
  }
}

TEST_F(Training, OnSeveralRanksFollowsTrainingOnOne) {
  std::vector<double> losses;
  for (const Rank size : {1, ranks}) {
    on_ranks(size, 12 / static_cast<std::size_t>(size), dense, [&](Communicator& communicator, Workload& workload) {
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
  on_ranks(ranks, 3, skipping, [&](Communicator& communicator, Workload& workload) {
    constexpr std::uint64_t middle = 7;
    if (Status trained = train(workload, 0, middle); !trained) return trained;
    const std::vector<std::string> saved = bytes_of(workload.state());
    if (Status trained = train(workload, middle, steps); !trained) return trained;
    const std::vector<std::string> expected = bytes_of(workload.state());

    if (Status ready = workload.set_up(communicator, {.method = skipping, .seed = 3, .steps = steps}); !ready) {
      return ready;
    }
    EXPECT_NE(bytes_of(workload.state()), saved);
    const std::vector<StateItem> items = workload.state();
    for (std::size_t i = 0; i < items.size(); ++i) std::memcpy(items[i].data, saved[i].data(), saved[i].size());
    if (Status trained = train(workload, middle, steps); !trained) return trained;
    EXPECT_EQ(bytes_of(workload.state()), expected);
    return Status::ok();
  });
}

TEST_F(Training, EvaluationFindsParametersThatDifferBetweenRanks) {
  on_ranks(ranks, 3, dense, [](Communicator& communicator, Workload& workload) {
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
