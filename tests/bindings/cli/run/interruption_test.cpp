#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

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
  const Wanted wanted{.run = "steps = 1000\nevaluate_every = 500", .methods = dense + skip + topk};
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
    const std::size_t continued = step == "1000" ? 0 : 1;
    EXPECT_EQ(count(again.output, "(^|\n)" + label + ": continues at step " + step + " of 1000\n"), continued)
        << again.output;
    EXPECT_EQ(count(again.output, ": continues at step "), continued) << again.output;
    EXPECT_EQ(results(folder), results("alone"));
  }
}

TEST_F(Interruptions, ATerminalThatClosesStopsTheRunInGoodOrder) {
  std::vector<std::string> words = command(this->words("closed", {.run = "steps = 100000000\nevaluate_every = 100"}));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int terminal = -1;
  const pid_t launcher = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    ::signal(SIGHUP, SIG_DFL);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  std::string shown;
  char chunk[256];
  for (ssize_t bytes = 0;
       shown.find("fingerprint") == shown.npos && (bytes = ::read(terminal, chunk, sizeof(chunk))) > 0;) {
    shown.append(chunk, static_cast<std::size_t>(bytes));
  }
  ::close(terminal);
  int status = -1;
  EXPECT_EQ(::waitpid(launcher, &status, 0), launcher);
  ASSERT_TRUE(WIFEXITED(status)) << status << shown;
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGHUP) << shown;
  EXPECT_TRUE(test::holds_a_set(sets("closed", "dense"))) << shown;
}

TEST_F(Interruptions, AWishForACheckpointIsFulfilledAndTheRunGoesOn) {
  Executed run(command(words("wish", {.run = "steps = 100000000\nevaluate_every = 100", .methods = dense})), {});
  ASSERT_TRUE(run.says("fingerprint")) << run.output();
  EXPECT_FALSE(test::holds_a_set(sets("wish", "dense")));
  run.signal(SIGUSR1);
  ASSERT_TRUE(run.says(" by SIGUSR1")) << run.output();
  EXPECT_EQ(count(run.output(), "dense: saved after step [0-9]+ by SIGUSR1\n"), 1u) << run.output();
  EXPECT_TRUE(test::holds_a_set(sets("wish", "dense")));
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 143) << run.output();
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
  Executed run({"/bin/sh", "-c", fmt::format("trap '' INT HUP USR1; exec {} run {}", LACUNA_COMMAND, path)}, {});
  wait_for_the_lock("ignored", run);
  for (const int signal : {SIGINT, SIGHUP, SIGUSR1}) run.signal(signal);
  EXPECT_EQ(run.wait(), 0) << run.output();
  EXPECT_EQ(count(run.output(), "SIGUSR1"), 0u) << run.output();
}

}  // namespace
}  // namespace lacuna::cli
