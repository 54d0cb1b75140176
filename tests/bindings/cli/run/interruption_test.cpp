#include <chrono>
#include <csignal>
#include <thread>

#include "bindings/checkpoint/file_names.hpp"
#include "tests/bindings/cli/run/run_fixture.hpp"

namespace lacuna::cli {
namespace {

using namespace std::chrono_literals;
using test::Executed;

class Interruptions : public RunTest {
 protected:
  static std::vector<std::string> command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), LACUNA_COMMAND);
    return arguments;
  }

  /// Waits until the run holds its folder. By then all ranks catch signals.
  void wait_for_the_lock(const std::string& name, Executed& first_rank) const {
    while (first_rank.wait(1ms) < 0 && !std::filesystem::exists(folder_ / name / "lacuna.lock")) continue;
  }

  const std::string stopped_ =
      " has stopped the run after step ([0-9]+) of '([a-z]+)', which is saved; the same command goes on from there\n";
};

TEST_F(Interruptions, BothSignalsSaveAndTheSameCommandGoesOnToTheSameBits) {
  const Wanted wanted{.run = "steps = 3000\nevaluate_every = 1000", .methods = dense + skip + topk};
  const Outcome alone = run("alone", wanted);
  ASSERT_EQ(alone.exit_code, 0) << alone.output;
  for (const auto& [signal, name] : {std::pair(SIGINT, "SIGINT .Ctrl-C."), std::pair(SIGTERM, "SIGTERM")}) {
    const std::string folder = fmt::format("signal{}", signal);
    Executed begun(command(words(folder, wanted)), {});
    ASSERT_TRUE(begun.says("fingerprint")) << begun.output();
    begun.signal(signal);
    EXPECT_EQ(begun.wait(), 128 + signal) << begun.output();
    const std::string said = begun.output();
    EXPECT_EQ(count(said, name + stopped_), 1u) << said;
    std::smatch place;
    ASSERT_TRUE(std::regex_search(said, place, std::regex(name + stopped_))) << said;
    const std::string step = place[1], label = place[2];
    EXPECT_TRUE(std::filesystem::exists(sets(folder, label) / ("manifest-" + step + ".json"))) << said;
    const Outcome again = run(folder, wanted);
    EXPECT_EQ(again.exit_code, 0) << again.output;
    // The signal may come while a method makes its last steps.
    const std::size_t continued = step == "3000" ? 0 : 1;
    EXPECT_EQ(count(again.output, "(^|\n)" + label + ": continues at step " + step + " of 3000\n"), continued)
        << again.output;
    EXPECT_EQ(count(again.output, ": continues at step "), continued) << again.output;
    EXPECT_EQ(results(folder), results("alone"));
  }
}

TEST_F(Interruptions, ASignalToOneRankStopsAll) {
  const std::vector<std::string> ranks = {LACUNA_COMMAND, "run", config("one", {.run = "steps = 100000000"})};
  test::Job job({ranks, ranks, ranks}, {});
  wait_for_the_lock("one", job[0]);
  std::this_thread::sleep_for(300ms);
  job[1].signal(SIGTERM);
  for (std::size_t rank = 0; rank < job.size(); ++rank) EXPECT_EQ(job[rank].wait(60s), 143) << job[rank].output();
  EXPECT_EQ(count(job[0].output(), "SIGTERM" + stopped_), 1u) << job[0].output();
  EXPECT_EQ(count(job[1].output(), "stopped"), 0u) << "rank 0 says it for all";
}

TEST_F(Interruptions, ASecondSignalEndsAtOnce) {
  const Wanted slow{.run = "steps = 1000", .methods = dense, .workload = "batch = 3000\nfilters = [32, 32]"};
  Executed run({LACUNA_COMMAND, "run", config("slow", slow)}, {});
  wait_for_the_lock("slow", run);
  run.signal(SIGINT);
  std::this_thread::sleep_for(20ms);
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(60s), 143);
  EXPECT_EQ(count(run.output(), "stopped"), 0u) << run.output();
  const auto saved = checkpoint::list_set_files(sets("slow", "dense"));
  ASSERT_TRUE(saved) << saved.status().to_string();
  EXPECT_TRUE(saved->empty());
}

TEST_F(Interruptions, ASignalThatWasIgnoredAtTheStartIsLeftAlone) {
  const std::string path = config("ignored", {.run = "steps = 1500", .methods = dense});
  Executed run({"/bin/sh", "-c", fmt::format("trap '' INT; exec {} run {}", LACUNA_COMMAND, path)}, {});
  wait_for_the_lock("ignored", run);
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 0) << run.output();
}

}  // namespace
}  // namespace lacuna::cli
