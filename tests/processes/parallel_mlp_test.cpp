#include "examples/workloads/parallel_mlp/parallel_mlp.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/examples/training_fixture.hpp"
#include "tests/processes/executed.hpp"
#include "tests/support/checkpoints.hpp"

namespace lacuna::workloads {
namespace {

using test::Executed;

constexpr Rank ranks = 8;

/// Runs `lacuna run` as eight processes: two replicas of two stages, whose layers two ranks share.
class ParallelProcesses : public TrainingFixture {
 protected:
  Executed run(std::uint64_t run_steps) const {
    const std::string config = (folder_ / "config.toml").string();
    std::ofstream(config) << fmt::format(R"([run]
name = "parallel"
output = "{}"
seed = 3
steps = {}
checkpoint_every = 50
[workload]
kind = "parallel_mlp"
path = "{}"
hidden = [24, 16, 8]
batch = 6
micro_batches = 3
data = 2
tensor = 2
pipeline = 2
learning_rate = 0.1
[[method]]
algorithm = "ring"
)",
                                         (folder_ / "output").string(), run_steps, folder_.string());
    return Executed({LACUNA_COMMAND, "launch", "--raw", "-n", "8", LACUNA_COMMAND, "run", config}, {});
  }

  /// Returns the fingerprint of the same training by threads of one process, as the command prints it.
  std::string fingerprint_of_threads(std::uint64_t run_steps) const {
    const ParallelMlpOptions options{
        .model = {.folder = folder_, .batch = 6, .hidden = {24, 16, 8}, .learning_rate = 0.1},
        .grid = {.data = 2, .tensor = 2, .pipeline = 2},
        .micro_batches = 3};
    std::uint64_t fingerprint = 0;
    const Make make = [&] { return make_parallel_mlp(options); };
    on_ranks(ranks, make, task_of(dense, run_steps), [&](Communicator& communicator, Workload& workload) {
      if (Status trained = train(workload, 0, run_steps); !trained) return trained;
      const Result<Metrics> metrics = workload.evaluate();
      if (metrics && communicator.rank() == 0) fingerprint = metrics->fingerprint;
      return metrics.status();
    });
    return fmt::format("fingerprint {:016x}", fingerprint);
  }
};

TEST_F(ParallelProcesses, EndWithTheBitsOfThreads) {
  Executed job = run(steps);
  EXPECT_EQ(job.wait(), 0) << job.output();
  EXPECT_NE(job.output().find(fingerprint_of_threads(steps)), std::string::npos) << job.output();
}

TEST_F(ParallelProcesses, ContinueFromACheckpointToTheSameBits) {
  constexpr std::uint64_t many = 400;
  const std::filesystem::path sets = folder_ / "output" / "seed-3" / "ring";
  {
    Executed job = run(many);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!test::holds_a_set(sets)) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << job.output();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    job.signal(SIGTERM);
    EXPECT_NE(job.wait(), 0) << job.output();
  }
  Executed job = run(many);
  EXPECT_EQ(job.wait(), 0) << job.output();
  EXPECT_TRUE(job.says("ring: continues at step ")) << job.output();
  EXPECT_NE(job.output().find(fingerprint_of_threads(many)), std::string::npos) << job.output();
}

}  // namespace
}  // namespace lacuna::workloads
