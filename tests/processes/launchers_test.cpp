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
    EXPECT_TRUE(info.says("launcher: " + launcher.by)) << info.output();
    EXPECT_TRUE(info.says("rank 1 of 2")) << info.output();
  }
}

TEST(OtherLaunchers, CarryTheUsersKey) {
  for (const OtherLauncher& launcher : {open_mpi, mpich}) {
    Executed worker(started_by(launcher, 3, {LACUNA_WORKER, "size=3"}), {{"LACUNA_KEY", "a key, with = and blanks"}});
    EXPECT_EQ(worker.wait(), 0) << worker.output();
  }
}

TEST(OtherLaunchers, ByVariablesOfTorchrunRanksMeetBehindItsStore) {
  const ReservedPort port;
  std::vector<std::unique_ptr<Executed>> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.push_back(std::make_unique<Executed>(
        Words{"/usr/bin/env", fmt::format("RANK={}", rank), "WORLD_SIZE=3", "MASTER_ADDR=127.0.0.1",
              fmt::format("MASTER_PORT={}", port.number() - 1), "TORCHELASTIC_RUN_ID=7", LACUNA_WORKER, "size=3"},
        Environment()));
  }
  for (const auto& rank : ranks) EXPECT_EQ(rank->wait(), 0) << rank->output();
}

}  // namespace
}  // namespace lacuna::test
