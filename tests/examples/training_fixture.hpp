#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/skip/skip.hpp"
#include "bindings/workload/workload.hpp"
#include "examples/workloads/fashion_mnist/random.hpp"
#include "tests/examples/idx_fixture.hpp"

namespace lacuna::workloads {

inline constexpr std::uint64_t steps = 12;

inline const MethodChoice dense{.label = "dense", .algorithm = "ring"};

/// Returns a method by which some layers are dense after the first measurement and others are not.
inline MethodChoice automatic(int skipped) {
  return {.label = "automatic",
          .options = skip({.steps = skipped,
                           .mode = SkipMode::Random,
                           .feedback = true,
                           .small = 64,
                           .policy = SkipPolicy::Automatic,
                           .importance_every = 5,
                           .importance_threshold = 0.25})};
}

inline std::vector<std::string> bytes_of(const std::vector<StateItem>& items) {
  std::vector<std::string> bytes;
  for (const StateItem& item : items) {
    bytes.emplace_back(static_cast<const char*>(item.data), item.count * size_of(item.dtype));
  }
  return bytes;
}

/// Ranks of this process that train on a few small random images.
class TrainingFixture : public IdxFixture {
 protected:
  using Make = std::function<std::unique_ptr<Workload>()>;
  /// What a rank does with its own workload. The first error ends it.
  using Work = std::function<Status(Communicator&, Workload&)>;

  TrainingFixture() {
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

  static Task task_of(const MethodChoice& method, std::uint64_t of_steps = steps) {
    return {.method = method, .seed = 3, .steps = of_steps};
  }

  /// Runs `work` on that many ranks, on a thread for each, with a workload that has been loaded and set up.
  static void on_ranks(Rank size, const Make& make, const Task& task, const Work& work) {
    Result<std::vector<Communicator>> world = Communicator::local(size);
    ASSERT_TRUE(world) << world.status().to_string();
    const auto on_rank = [&](Communicator& communicator) -> Status {
      const std::unique_ptr<Workload> workload = make();
      if (Status loaded = workload->load(); !loaded) return loaded;
      if (Status ready = workload->set_up(communicator, task); !ready) return ready;
      return work(communicator, *workload);
    };
    std::vector<Status> outcomes(world->size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < world->size(); ++rank) {
      threads.emplace_back([&, rank] { outcomes[rank] = on_rank((*world)[rank]); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& outcome : outcomes) EXPECT_TRUE(outcome) << outcome.to_string();
  }

  static Status train(Workload& workload, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t step = begin; step < end; ++step) {
      if (Result<double> done = workload.step(step); !done) return done.status();
    }
    return Status::ok();
  }

  /// Saves the state in the middle and trains to the end. Trains from the saved state again, which must give the same
  /// bits.
  static Status continue_from_middle(Communicator& communicator, Workload& workload, const Task& task) {
    constexpr std::uint64_t middle = 7;
    if (Status trained = train(workload, 0, middle); !trained) return trained;
    const std::vector<std::string> saved = bytes_of(workload.state());
    if (Status trained = train(workload, middle, steps); !trained) return trained;
    const std::vector<std::string> expected = bytes_of(workload.state());

    if (Status ready = workload.set_up(communicator, task); !ready) return ready;
    EXPECT_NE(bytes_of(workload.state()), saved);
    const std::vector<StateItem> items = workload.state();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!saved[i].empty()) std::memcpy(items[i].data, saved[i].data(), saved[i].size());
    }
    if (Status taken = workload.restored(); !taken) return taken;
    if (Status trained = train(workload, middle, steps); !trained) return trained;
    EXPECT_EQ(bytes_of(workload.state()), expected);
    return Status::ok();
  }
};

}  // namespace lacuna::workloads
