// Jobs that other launchers start.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/processes/executed.hpp"

namespace lacuna::test {
namespace {

using Words = std::vector<std::string>;

struct OtherLauncher {
  Words command;
  std::string by;  ///< what `lacuna info` says
};

const OtherLauncher open_mpi = {{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"}, "PMIx (PMIX_NAMESPACE="};
const OtherLauncher mpich = {{"mpiexec.mpich"}, "PMI-1 (PMI_FD="};

Words started_by(const OtherLauncher& launcher, int ranks, const Words& program) {
  Words command = launcher.command;
  command.insert(command.end(), {"-n", std::to_string(ranks)});
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

TEST(OtherLaunchers, StartJobsWithoutAnyVariableOfLacuna) {
  for (const OtherLauncher& launcher : {open_mpi, mpich}) {
    for (int ranks : {2, 4}) {
      Executed perf(started_by(launcher, ranks,
                               {LACUNA_COMMAND, "perf", "allreduce", "-b", "4", "-e", "300000", "-f", "50", "-n", "2"}),
                    {});
      EXPECT_EQ(perf.wait(), 0) << perf.output();
      EXPECT_TRUE(perf.says(fmt::format("on {} ranks", ranks))) << perf.output();
      EXPECT_TRUE(perf.says("# Out of bounds values : 0 OK")) << perf.output();
    }
  }
}

TEST(OtherLaunchers, OfOneRankStartAJobOfOneRank) {
  for (const OtherLauncher& launcher : {open_mpi, mpich}) {
    Executed worker(started_by(launcher, 1, {LACUNA_WORKER, "size=1"}), {});
    EXPECT_EQ(worker.wait(), 0) << worker.output();
    EXPECT_TRUE(worker.says("size 1: right")) << worker.output();
  }
}

TEST(OtherLaunchers, AreNamedByInfo) {
  for (const OtherLauncher& launcher : {open_mpi, mpich}) {
    Executed info(started_by(launcher, 2, {LACUNA_COMMAND, "info"}), {});
    EXPECT_EQ(info.wait(), 0) << info.output();
    EXPECT_TRUE(info.says(launcher.by)) << info.output();
    EXPECT_TRUE(info.says("rank 1 of 2")) << info.output();
  }
}

TEST(OtherLaunchers, LeaveTheUsersKeyInForce) {
  const std::string script = "[ $OMPI_COMM_WORLD_RANK$PMI_RANK = 1 ] && export LACUNA_KEY=$KEY_OF_1; exec \"$@\"";
  const Words worker = {"/bin/sh", "-c", script, "sh", LACUNA_WORKER, "size=2"};
  for (const OtherLauncher& launcher : {open_mpi, mpich}) {
    Environment keys = {{"LACUNA_KEY", "a key, with = and blanks"}, {"KEY_OF_1", "a key, with = and blanks"}};
    Executed equal(started_by(launcher, 2, worker), keys);
    EXPECT_EQ(equal.wait(), 0) << equal.output();
    keys["KEY_OF_1"] = "another key";
    keys["LACUNA_BOOTSTRAP_TIMEOUT"] = "5";
    Executed different(started_by(launcher, 2, worker), keys);
    EXPECT_NE(different.wait(), 0);
    EXPECT_TRUE(different.says("LACUNA_KEY must be equal on all ranks")) << different.output();
  }
}

TEST(OtherLaunchers, ByVariablesOfTorchrunRanksMeetAwayFromItsStore) {
  const ReservedPort port;
  const int master_port = port.number() - 1000;
  std::vector<std::unique_ptr<Executed>> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.push_back(std::make_unique<Executed>(
        Words{"/usr/bin/env", fmt::format("RANK={}", rank), "WORLD_SIZE=3", "MASTER_ADDR=127.0.0.1",
              fmt::format("MASTER_PORT={}", master_port), "TORCHELASTIC_RUN_ID=7", LACUNA_WORKER, "size=3"},
        Environment()));
  }
  for (const auto& rank : ranks) EXPECT_EQ(rank->wait(), 0) << rank->output();
}

}  // namespace
}  // namespace lacuna::test
