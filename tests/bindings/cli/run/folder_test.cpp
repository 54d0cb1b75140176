#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "tests/bindings/cli/run/run_fixture.hpp"

namespace lacuna::cli {
namespace {

using test::Executed;

/// Configs of `lacuna run` whose output is the folder "out" beside them.
class RunFolder : public testing::Test {
 protected:
  std::filesystem::path out() const { return folder_ / "out"; }
  /// Returns the folder of the method's checkpoints.
  std::filesystem::path sets() const { return out() / "seed-1" / "ring"; }
  std::string config(const std::string& steps, int checkpoint_every = 1) const {
    const std::filesystem::path path = folder_ / "config.toml";
    std::ofstream(path) << "[run]\nname = \"few\"\noutput = \"" << out().string() << "\"\nsteps = " << steps
                        << "\ncheckpoint_every = " << checkpoint_every
                        << "\n[workload]\nkind = \"fashion_mnist\"\nhidden = [2]\n"
                           "[[method]]\nalgorithm = \"ring\"\n";
    return path;
  }

  const test::Folder folder_;
};

void expect_holds(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in '" << text << "'";
}

TEST_F(RunFolder, ASecondRunOfAConfigIsRefusedAndHarmsNothing) {
  const std::string path = config("100000000");
  Executed first({LACUNA_COMMAND, "run", path}, {{"LACUNA_HOST", "here"}});
  ASSERT_TRUE(waits_for_a_set(first, sets())) << first.output();
  for (const std::string option : {"--quiet", "--fresh"}) {
    Executed second({LACUNA_COMMAND, "run", path, option}, {});
    EXPECT_EQ(second.wait(), 1);
    expect_holds(second.output(), out().string() + " is in use by process ");
    expect_holds(second.output(), " on here: ");
  }
  EXPECT_TRUE(waits_for_a_set(first, sets())) << "it goes on: " << first.output();
  first.signal(SIGKILL);
  first.wait();
  Executed third({LACUNA_COMMAND, "run", config("1"), "--fresh"}, {});
  EXPECT_EQ(third.wait(), 0) << "the lock has ended with its holder: " << third.output();
}

TEST_F(RunFolder, WhoHoldsAFolderIsTold) {
  ASSERT_TRUE(std::filesystem::create_directory(out()));
  const auto lock = FolderLock::take(out(), "this-host");
  ASSERT_TRUE(lock) << lock.status().to_string();
  Executed run({LACUNA_COMMAND, "run", config("1")}, {});
  EXPECT_EQ(run.wait(), 1);
  expect_holds(run.output(), "is in use by process " + std::to_string(::getpid()) + " on this-host: ");
}

TEST_F(RunFolder, ALockIsFreeAfterItsEnd) {
  { EXPECT_TRUE(FolderLock::take(folder_.path(), "here")); }
  const auto again = FolderLock::take(folder_.path(), "here");
  EXPECT_TRUE(again) << again.status().to_string();
  EXPECT_FALSE(FolderLock::take(folder_.path(), "here"));
}

TEST_F(RunFolder, WhatIsPlantedAsTheLockIsNotOverwritten) {
  std::ofstream(folder_ / "victim") << "precious";
  const auto planted = folder_ / "lacuna.lock";
  const auto refused = [&] {
    const auto lock = FolderLock::take(folder_.path(), "here");
    std::filesystem::remove(planted);
    return !lock;
  };
  std::filesystem::create_symlink(folder_ / "victim", planted);
  EXPECT_TRUE(refused());
  std::filesystem::create_hard_link(folder_ / "victim", planted);
  EXPECT_TRUE(refused());
  ASSERT_EQ(::mkfifo(planted.c_str(), 0600), 0);
  EXPECT_TRUE(refused());
  EXPECT_EQ(folder_.read("victim"), "precious");
}

TEST_F(RunFolder, AFolderThatCannotBeWrittenIsToldBeforeTheFirstStep) {
  std::filesystem::create_directory(out());
  std::ofstream(out() / "lacuna.lock");
  ASSERT_EQ(::chmod(out().c_str(), 0555), 0);
  std::vector<std::string> command = {LACUNA_COMMAND, "run", config("3")};
  if (::geteuid() == 0) {  // root writes where others can't
    command.insert(command.begin(), {"setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--"});
  }
  Executed run(command, {});
  EXPECT_EQ(run.wait(), 1);
  expect_holds(run.output(), (out() / "few.h5").string() + " could not be written: Permission denied");
  EXPECT_EQ(run.output().find("epoch"), std::string::npos) << run.output();
}

TEST_F(RunFolder, AResultFileThatCannotBeReplacedIsToldBeforeTheFirstStep) {
  std::filesystem::create_directories(out() / "few.h5");
  Executed run({LACUNA_COMMAND, "run", config("3")}, {});
  EXPECT_EQ(run.wait(), 1);
  expect_holds(run.output(), (out() / "few.h5").string() + " could not be written: it is a folder, not a regular file");
  EXPECT_EQ(run.output().find("epoch"), std::string::npos) << run.output();
}

TEST_F(RunFolder, AFolderThatIsRemovedInMidRunIsAnErrorThatNamesIt) {
  Executed run({LACUNA_COMMAND, "run", config("100000000")}, {});
  ASSERT_TRUE(waits_for_a_set(run, sets())) << run.output();
  std::filesystem::rename(out(), folder_ / "moved");
  EXPECT_EQ(run.wait(), 1) << run.output();
  expect_holds(run.output(), (out() / "lacuna.lock").string() + " is not the file that this run has locked");
  EXPECT_FALSE(std::filesystem::exists(out())) << "it is not made anew";
}

TEST_F(RunFolder, AFolderThatIsReplacedInMidRunIsAnError) {
  Executed run({LACUNA_COMMAND, "run", config("100000000")}, {});
  ASSERT_TRUE(waits_for_a_set(run, sets())) << run.output();
  ASSERT_TRUE(std::filesystem::create_directory(folder_ / "other"));
  std::filesystem::rename(out(), folder_ / "moved");
  std::filesystem::rename(folder_ / "other", out());
  EXPECT_EQ(run.wait(), 1) << run.output();
  expect_holds(run.output(), "the folder was removed or replaced while the run was using it");
}

TEST_F(RunFolder, AFinishedRunWhoseManifestIsALinkDoesNotBeginAgain) {
  const std::string path = config("3");
  Executed first({LACUNA_COMMAND, "run", path}, {});
  ASSERT_EQ(first.wait(), 0) << first.output();
  std::filesystem::rename(sets() / "manifest-3.json", folder_ / "manifest-3.json");
  std::filesystem::create_symlink(folder_ / "manifest-3.json", sets() / "manifest-3.json");
  for (const std::string option : {"--quiet", "--fresh"}) {
    Executed second({LACUNA_COMMAND, "run", path, option}, {});
    EXPECT_EQ(second.wait(), 1) << second.output();
    expect_holds(second.output(), ".json: it is a link, not a regular file; ");
    EXPECT_EQ(second.output().find("epoch"), std::string::npos) << second.output();
  }
}

TEST_F(RunFolder, DamagedResultsAreToldAndMadeAnewFromTheCheckpoints) {
  const std::string path = config("3");
  Executed first({LACUNA_COMMAND, "run", path}, {});
  ASSERT_EQ(first.wait(), 0) << first.output();
  const auto before = checkpoint::read_results(out() / "few.h5");
  ASSERT_TRUE(before) << before.status().to_string();
  for (const std::filesystem::path& file : {out() / "few.h5", sets() / "steps.h5"}) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(600);
    bytes.put('\x55');
  }
  for (const std::string command : {"show", "plot"}) {
    Executed reader({LACUNA_COMMAND, command, out() / "few.h5"}, {});
    EXPECT_EQ(reader.wait(), 1) << command;
    expect_holds(reader.output(), "few.h5 is damaged: ");
  }
  Executed second({LACUNA_COMMAND, "run", path}, {});
  EXPECT_EQ(second.wait(), 0) << second.output();
  expect_holds(second.output(), "few.h5 is damaged: ");
  expect_holds(second.output(), "; it is made anew from the checkpoints");
  expect_holds(second.output(), "what its first 3 steps were stays unknown: ");
  const auto after = checkpoint::read_results(out() / "few.h5");
  ASSERT_TRUE(after) << after.status().to_string();
  const auto accuracies_of = [](const checkpoint::RunResults& results) {
    for (const checkpoint::ResultColumn& column : results.methods.at(0).columns) {
      if (column.name == "test_accuracy") return column.values;
    }
    return std::vector<double>();
  };
  EXPECT_EQ(after->methods.at(0).steps, before->methods.at(0).steps);
  EXPECT_EQ(accuracies_of(*after).size(), 1u);
  EXPECT_EQ(accuracies_of(*after), accuracies_of(*before));
}

TEST_F(RunFolder, AWorkloadWithoutEpochsCountsSteps) {
  const auto config_of = [this](const std::string& length) {
    const std::filesystem::path path = folder_ / "heat.toml";
    std::ofstream(path)
        << "[run]\nname = \"few\"\noutput = \"" << out().string() << "\"\n"
        << length
        << "\n[workload]\nkind = \"heat\"\nrows = 8\ncolumns = 8\nevaluate_every = 2\n[[method]]\nlabel = \"dense\"\n";
    return path.string();
  };
  Executed refused({LACUNA_COMMAND, "run", config_of("epochs = 2")}, {});
  EXPECT_EQ(refused.wait(), 1);
  expect_holds(refused.output(), "a workload of the kind 'heat' has no epochs: [run] needs 'steps'");
  const std::string path = config_of("steps = 4");
  Executed planned({LACUNA_COMMAND, "run", "--dry-run", path}, {}), run({LACUNA_COMMAND, "run", path}, {});
  EXPECT_EQ(planned.wait(), 0) << planned.output();
  expect_holds(planned.output(), "does 4 steps; evaluated every 2 steps, saved at the end");
  EXPECT_EQ(run.wait(), 0) << run.output();
  expect_holds(run.output(), ": step 2: ");
  expect_holds(run.output(), "\nmethod  steps ");
  EXPECT_EQ(run.output().find("epoch"), std::string::npos) << run.output();
  const auto file = checkpoint::read_results(out() / "few.h5");
  ASSERT_TRUE(file) << file.status().to_string();
  EXPECT_EQ(file->methods.at(0).steps, (std::vector<std::int64_t>{2, 4}));
}

TEST_F(RunFolder, ARunIsEvaluatedAsOftenAsItsConfigSays) {
  const std::string path = config("10\nevaluate_every = 4", 0);
  Executed run({LACUNA_COMMAND, "run", path}, {});
  EXPECT_EQ(run.wait(), 0) << run.output();
  const auto file = checkpoint::read_results(out() / "few.h5");
  ASSERT_TRUE(file) << file.status().to_string();
  EXPECT_EQ(file->methods.at(0).steps, (std::vector<std::int64_t>{4, 8, 10}));
}

TEST_F(RunFolder, AResultFileHasTheNumbersOfAMethodAddedUp) {
  const std::string path = config("10\nevaluate_every = 4", 4);
  std::ofstream(path, std::ios::app) << "[[method]]\nname = \"skip\"\nsteps = 1\n";
  const std::vector<std::string> command = {LACUNA_COMMAND, "run", path};
  test::Job job({command, command}, {});
  for (std::size_t rank = 0; rank < job.size(); ++rank) EXPECT_EQ(job[rank].wait(), 0) << job[rank].output();
  const auto file = checkpoint::read_results(out() / "few.h5");
  ASSERT_TRUE(file) << file.status().to_string();
  ASSERT_EQ(file->methods.size(), 2u);
  const auto numbers_of = [](const checkpoint::MethodResults& results) {
    for (const auto& column : results.columns) {
      if (column.name == "skip.steps") return column.values;
    }
    return std::vector<double>();
  };
  EXPECT_EQ(numbers_of(file->methods[0]), std::vector<double>()) << "a dense method";
  EXPECT_EQ(numbers_of(file->methods[1]), (std::vector<double>{8, 16, 20})) << "two layers in each step";
}

TEST_F(RunFolder, AResultFileExplainsItself) {
  const std::string path = config("10\nevaluate_every = 4", 4);
  std::ofstream(path, std::ios::app)
      << "[[method]]\nname = \"topk\"\ndensity = 0.1\n[[method]]\nname = \"skip\"\nsteps = "
         "1\npolicy = \"automatic\"\nmode = \"random\"\n";
  const std::vector<std::string> command = {LACUNA_COMMAND, "run", path};
  test::Job job({command, command}, {{"LACUNA_CHUNK", "64K"}, {"LACUNA_HOST", "here"}, {"UCX_TLS", "tcp,self"}});
  for (std::size_t rank = 0; rank < job.size(); ++rank) EXPECT_EQ(job[rank].wait(), 0) << job[rank].output();
  const auto file = checkpoint::read_results(out() / "few.h5");
  ASSERT_TRUE(file) << file.status().to_string();
  const auto text = [](const Attributes& attributes, std::string_view name) {
    const auto* found = find_attribute<std::string>(attributes, name);
    return found ? *found : std::string();
  };
  EXPECT_EQ(text(file->provenance, "environment"), "LACUNA_CHUNK=64K\nLACUNA_HOST=here\nUCX_TLS=tcp,self");
  EXPECT_NE(text(file->provenance, "commit"), "");
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"dense", "ring"}, {"topk:density=0.1", "sparse_"}, {"skip:", "skip_"}};
  ASSERT_EQ(file->methods.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& method = file->methods[i];
    EXPECT_TRUE(text(method.about, "method").starts_with(expected[i].first)) << text(method.about, "method");
    EXPECT_TRUE(text(method.about, "algorithm").starts_with(expected[i].second)) << text(method.about, "algorithm");
    std::vector<std::string> by_rank;
    for (const auto& column : method.columns) {
      EXPECT_NE(text(column.about, "unit"), "") << method.method << " " << column.name;
      EXPECT_NE(text(column.about, "description"), "") << method.method << " " << column.name;
      if (column.by_rank.empty()) continue;
      by_rank.push_back(column.name);
      EXPECT_EQ(column.by_rank.size(), 2 * method.steps.size());
    }
    EXPECT_GE(by_rank.size(), 3u);
    EXPECT_EQ(by_rank.front(), "seconds");
    const auto loss = std::find_if(method.columns.begin(), method.columns.end(),
                                   [](const auto& column) { return column.name == "training_loss"; });
    ASSERT_NE(loss, method.columns.end());
    for (const double value : loss->values) EXPECT_GT(value, 0.5) << "of an untrained network with two neurons";
  }
}

TEST_F(RunFolder, NoFileHoldsTheKey) {
  const std::string key = "a-key-that-is-in-no-file";
  Executed run({LACUNA_COMMAND, "run", config("1")}, {{"LACUNA_KEY", key}, {"LACUNA_LOG", "info"}});
  EXPECT_EQ(run.wait(), 0) << run.output();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(out())) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(bytes.find(key), std::string::npos) << entry.path();
  }
  EXPECT_EQ(run.output().find(key), std::string::npos);
}

TEST_F(RunFolder, WhatAKilledRunLeftOfItsResultFileIsRemoved) {
  std::filesystem::create_directory(out());
  std::ofstream(out() / "few.h5.0123456789abcdef.tmp") << "half";
  Executed run({LACUNA_COMMAND, "run", config("1")}, {});
  EXPECT_EQ(run.wait(), 0) << run.output();
  EXPECT_FALSE(std::filesystem::exists(out() / "few.h5.0123456789abcdef.tmp"));
}

}  // namespace
}  // namespace lacuna::cli
