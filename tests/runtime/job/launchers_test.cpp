#include "runtime/job/launchers.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <list>
#include <map>

#include "runtime/observe/log.hpp"
#include "tests/runtime/job/bootstrap_job.hpp"
#include "tests/support/environment.hpp"

namespace lacuna::runtime {
namespace {

/// The error if a launcher has set these variables. Empty if there is none.
std::string said_to(const std::map<std::string, std::string>& variables) {
  std::list<test::Variable> set;
  for (const auto& [name, value] : variables) set.emplace_back(name, value);
  return std::string(find_launcher().status().message());
}

TEST(Launchers, WithoutTheirVariablesNothingIsSaid) { EXPECT_EQ(said_to({}), ""); }

TEST(Launchers, EachThatAnnouncesSeveralRanksIsNamedWithTheWayToHandThemOn) {
  const std::pair<const char*, const char*> names[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                       {"PMI_RANK", "PMI_SIZE"},
                                                       {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                                       {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
                                                       {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
                                                       {"RANK", "WORLD_SIZE"}};
  for (const auto& [rank, size] : names) {
    const std::string text = said_to({{rank, "0"}, {size, "3"}});
    expect_contains(text, fmt::format("({}=3, {}=0)", size, rank));
    expect_contains(text, fmt::format("sh -c 'LACUNA_RANK=${} LACUNA_SIZE=${} LACUNA_STORE=", rank, size));
    EXPECT_EQ(said_to({{rank, "0"}, {size, "1"}}), "");
  }
}

TEST(Launchers, ASizeAloneAnnouncesRanks) {
  for (const char* size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE"}) {
    expect_contains(said_to({{size, "2"}}), fmt::format("({}=2)", size));
  }
}

TEST(Launchers, ARankAboveZeroAnnouncesOthersWhereNoSizeIsTold) {
  expect_contains(said_to({{"PMIX_RANK", "1"}}), "(PMIX_RANK=1)");
  expect_contains(said_to({{"PMIX_RANK", "1"}}), "LACUNA_RANK=$PMIX_RANK LACUNA_SIZE=N ");
  EXPECT_EQ(said_to({{"PMIX_RANK", "0"}}), "");  // MPI programs of one process see this
}

/// What a launcher with these variables tells. There must be one.
Launched told_by(const std::map<std::string, std::string>& variables) {
  std::list<test::Variable> set;
  for (const auto& [name, value] : variables) set.emplace_back(name, value);
  const auto found = find_launcher();
  EXPECT_TRUE(found && *found) << found.status().to_string();
  return found && *found ? **found : Launched();
}

TEST(Launchers, TorchrunTellsAStoreFarFromItsOwn) {
  std::map<std::string, std::string> variables = {{"RANK", "2"},
                                                  {"WORLD_SIZE", "3"},
                                                  {"MASTER_ADDR", "10.0.0.7"},
                                                  {"MASTER_PORT", "29500"},
                                                  {"TORCHELASTIC_RUN_ID", "a run"},
                                                  {"TORCHELASTIC_RESTART_COUNT", "0"}};  // hosts may differ in it
  const Launched first = told_by(variables);
  EXPECT_EQ(first.rank, 2);
  EXPECT_EQ(first.size, 3);
  EXPECT_EQ(first.store, "10.0.0.7:30500");
  EXPECT_FALSE(first.share);
  variables["RANK"] = "0";
  EXPECT_EQ(told_by(variables).key, first.key);
  variables["TORCHELASTIC_RESTART_COUNT"] = "1";
  EXPECT_EQ(told_by(variables).key, first.key);
  variables["TORCHELASTIC_RUN_ID"] = "another run";
  EXPECT_NE(told_by(variables).key, first.key);
  variables["MASTER_ADDR"] = "fd00::7";
  EXPECT_EQ(told_by(variables).store, "[fd00::7]:30500");
  variables["MASTER_PORT"] = "65000";
  EXPECT_EQ(told_by(variables).store, "[fd00::7]:64000");
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"MASTER_PORT", "65536"},
                                                                                    {"MASTER_PORT", "x"},
                                                                                    {"MASTER_PORT", "0"},
                                                                                    {"MASTER_ADDR", ""},
                                                                                    {"RANK", "3"},
                                                                                    {"RANK", "-1"},
                                                                                    {"RANK", "x"},
                                                                                    {"RANK", ""}}) {
    auto wrong = variables;
    wrong[name] = value;
    expect_contains(said_to(wrong), "a launcher announces several ranks (WORLD_SIZE=3");
  }
  variables["WORLD_SIZE"] = "1";
  EXPECT_EQ(said_to(variables), "");
}

TEST(Launchers, ARunOfTorchrunWithoutAnIdGivesNoKey) {
  for (const char* run : {"", "none"}) {
    const Launched found = told_by({{"RANK", "2"},
                                    {"WORLD_SIZE", "3"},
                                    {"MASTER_ADDR", "10.0.0.7"},
                                    {"MASTER_PORT", "29500"},
                                    {"TORCHELASTIC_RUN_ID", run}});
    EXPECT_EQ(found.key, "");
  }
}

TEST(Launchers, OfSlurmTheStepTellsWhereItsFirstHostIs) {
  std::map<std::string, std::string> step = {{"SLURM_PROCID", "2"},         {"SLURM_STEP_NUM_TASKS", "3"},
                                             {"SLURM_JOB_ID", "4242"},      {"SLURM_STEP_ID", "1"},
                                             {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_STEP_NODELIST", "node[07-09,12]"}};
  const std::pair<const char*, const char*> lists[] = {{"node[07-09,12]", "node07"},
                                                       {"alpha,beta", "alpha"},
                                                       {"alpha", "alpha"},
                                                       {"n[3],m[1-2]", "n3"},
                                                       {"r[1,4]-eth0,x", "r1-eth0"}};
  for (const auto& [list, first] : lists) {
    step["SLURM_STEP_NODELIST"] = list;
    const Launched found = told_by(step);
    EXPECT_EQ(found.rank, 2);
    EXPECT_EQ(found.size, 3);
    EXPECT_EQ(found.store, fmt::format("{}:{}", first, 20000 + (4242 * 16 + 1) % 10000));
    EXPECT_EQ(found.key, "");
  }
  step["SLURM_STEP_NUM_NODES"] = "1";
  EXPECT_EQ(told_by(step).store, fmt::format("127.0.0.1:{}", 20000 + (4242 * 16 + 1) % 10000));
  step["SLURM_STEP_NUM_NODES"] = "2";
  step["SLURM_STEP_NODELIST"] = "node[07";
  expect_contains(said_to(step), "(SLURM_STEP_NUM_TASKS=3, SLURM_PROCID=2)");
}

TEST(Launchers, OfSlurmsStepOnlyItsOwnRanksAreRanks) {
  const std::map<std::string, std::string> daemons = {{"SLURM_PROCID", "0"},         {"SLURM_STEP_NUM_TASKS", "2"},
                                                      {"SLURM_JOB_ID", "4242"},      {"SLURM_STEP_ID", "1"},
                                                      {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_STEP_NODELIST", "a,b"}};
  for (const auto& [rank, size] :
       {std::pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), {"PMI_RANK", "PMI_SIZE"}}) {
    auto variables = daemons;
    variables[rank] = "3";
    variables[size] = "4";
    expect_contains(said_to(variables), fmt::format("{}=4, {}=3", size, rank));
  }
}

TEST(Launchers, ThoseWithPmiShareAnId) {
  const Launched found = told_by({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_FD", "7"}});
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.size, 2);
  EXPECT_TRUE(found.store.empty());
  EXPECT_TRUE(static_cast<bool>(found.share));
  for (const char* rank : {"", "x", "2"}) {
    expect_contains(said_to({{"PMI_RANK", rank}, {"PMI_SIZE", "2"}, {"PMI_FD", "7"}}), "PMI_SIZE=2");
  }
}

TEST(Launchers, OfOneRankNeedNoConnection) {
  EXPECT_EQ(said_to({{"PMIX_NAMESPACE", "n"}, {"PMIX_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), "");
}

/// The lines that are logged if a launcher has set these variables.
std::string logged_for(const std::map<std::string, std::string>& variables) {
  std::string lines;
  set_log_sink([](LogLevel, std::string_view text, void* to) { static_cast<std::string*>(to)->append(text) += '\n'; },
               &lines);
  EXPECT_EQ(said_to(variables), "");
  set_log_sink(nullptr, nullptr);
  return lines;
}

TEST(Launchers, ARankZeroWithoutAnySizeIsToldInTheLog) {
  for (const char* rank : {"PMIX_RANK", "PALS_RANKID"}) {
    expect_contains(logged_for({{rank, "0"}}),
                    fmt::format("job: {} is '0', as a launcher sets it, and nothing says how "
                                "many ranks there are: this process works alone",
                                rank));
    EXPECT_EQ(logged_for({{rank, "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}), "");
  }
  EXPECT_EQ(logged_for({}), "");
}

TEST(Launchers, BlanksAroundANumberDoNotCount) {
  for (const char* size : {" 4", "4 ", "\t4\n"}) {
    expect_contains(said_to({{"WORLD_SIZE", size}, {"RANK", "0"}}), "a launcher announces several ranks");
    expect_contains(said_to({{"PMIX_RANK", size}}), "a launcher announces several ranks");
  }
}

TEST(Launchers, OfSlurmTheStepCountsAndNotTheAllocation) {
  std::map<std::string, std::string> script = {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}};
  EXPECT_EQ(said_to(script), "");
  script["SLURM_STEP_ID"] = "4294967290";  // this is the shell of salloc
  script["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(said_to(script), "");
  script["SLURM_STEP_NUM_TASKS"] = "4";
  expect_contains(said_to(script), "(SLURM_STEP_NUM_TASKS=4, SLURM_PROCID=0)");
  expect_contains(said_to(script), "srun ... sh -c 'LACUNA_RANK=$SLURM_PROCID LACUNA_SIZE=$SLURM_STEP_NUM_TASKS ");
}

TEST(Launchers, OneInsideAnotherGivesTheExample) {
  const std::string text = said_to({{"SLURM_STEP_NUM_TASKS", "2"},
                                    {"SLURM_PROCID", "1"},
                                    {"OMPI_COMM_WORLD_SIZE", "4"},
                                    {"OMPI_COMM_WORLD_RANK", "3"},
                                    {"PMIX_RANK", "3"}});
  expect_contains(text, "SLURM_STEP_NUM_TASKS=2");
  expect_contains(text, "PMIX_RANK=3");
  expect_contains(text, "mpirun ... sh -c 'LACUNA_RANK=$OMPI_COMM_WORLD_RANK ");
}

TEST(Launchers, ASizeThatIsNoNumberOfRanksAnnouncesNothingAndIsToldInTheLog) {
  for (const char* value : {"many", "4x", "-2", "0", " ", "99999999999999999999999"}) {
    expect_contains(logged_for({{"WORLD_SIZE", value}}),
                    fmt::format("WORLD_SIZE is '{}', which is no number of ranks: this process works alone", value));
  }
  EXPECT_EQ(logged_for({{"WORLD_SIZE", ""}}), "");
  EXPECT_EQ(logged_for({{"WORLD_SIZE", "1"}}), "");
}

}  // namespace
}  // namespace lacuna::runtime
