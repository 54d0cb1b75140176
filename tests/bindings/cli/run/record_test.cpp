#include <nlohmann/json.hpp>

#include "bindings/checkpoint/gradient_file.hpp"
#include "tests/bindings/cli/run/run_fixture.hpp"

namespace lacuna::cli {
namespace {

/// Makes runs of two ranks and reads what they record.
class Record : public testing::Test {
 protected:
  static constexpr int ranks = 2;

  std::string config(const std::string& name, int steps, int seed = 1,
                     const std::string& every = "checkpoint_every = 7\nevaluate_every = 5") const {
    const std::filesystem::path path = folder_ / (name + ".toml");
    std::ofstream(path) << fmt::format(
        "[run]\nname = \"few\"\noutput = \"{}\"\nsteps = {}\nseed = {}\n{}\n"
        "[workload]\nkind = \"fashion_mnist\"\nimages = 3000\nhidden = [6]\n"
        "[[method]]\nname = \"skip\"\nsteps = 1\nmode = \"random\"\nfeedback = true\n[[method]]\nlabel = \"dense\"\n",
        (folder_ / name).string(), steps, seed, every);
    return path;
  }
  std::string file(const std::string& name) const { return folder_ / (name + ".h5"); }
  static std::vector<std::string> launched(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {"launch", "-n", std::to_string(ranks), "--raw", "--", LACUNA_COMMAND};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }
  static std::vector<std::string> fingerprints(const std::string& output) {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(output)) {
      if (line.find("fingerprint") != std::string::npos) found.push_back(line);
    }
    return found;
  }
  static std::vector<std::int64_t> steps_of(const std::string& path) {
    const auto file = checkpoint::GradientFile::open(path);
    EXPECT_TRUE(file) << file.status().to_string();
    return file ? file->steps() : std::vector<std::int64_t>();
  }

  const test::Folder folder_;
};

TEST_F(Record, RecordingChangesNoStep) {
  const Outcome with = lacuna(launched({"run", config("with", 12), "--record", file("g"), "--record-every", "5"}));
  const Outcome without = lacuna(launched({"run", config("without", 12)}));
  ASSERT_EQ(with.exit_code, 0) << with.output;
  ASSERT_EQ(without.exit_code, 0) << without.output;
  EXPECT_EQ(fingerprints(with.output).size(), 2u * 3u);
  EXPECT_EQ(fingerprints(with.output), fingerprints(without.output));
  EXPECT_EQ(count(with.output, "\ngradients: " + file("g") + "\n"), 1u) << with.output;
  EXPECT_EQ(steps_of(file("g")), (std::vector<std::int64_t>{0, 5, 10}));
}

TEST_F(Record, WhatRecordingSendsIsNotCounted) {
  ASSERT_EQ(lacuna(launched({"run", config("with", 6), "--record", file("g")})).exit_code, 0);
  ASSERT_EQ(lacuna(launched({"run", config("without", 6)})).exit_code, 0);
  const auto bytes_of = [&](const std::string& name) {
    const auto results = checkpoint::read_results(folder_ / name / "few.h5");
    EXPECT_TRUE(results) << results.status().to_string();
    std::vector<double> bytes;
    for (const auto& method : results->summary) {
      for (const auto& metric : method.metrics) {
        if (metric.name == "payload_bytes") bytes.push_back(metric.value);
      }
    }
    return bytes;
  };
  EXPECT_EQ(bytes_of("with").size(), 2u);
  EXPECT_EQ(bytes_of("with"), bytes_of("without"));
}

TEST_F(Record, WhatIsRecordedIsReplayed) {
  const Outcome recorded = lacuna(launched({"run", config("run", 9), "--record", file("g"), "--record-every", "4"}));
  ASSERT_EQ(recorded.exit_code, 0) << recorded.output;
  const Outcome replayed =
      lacuna(launched({"replay", file("g"), "--method", "dense", "--algorithm", "ring", "--json", folder_ / "r.json"}));
  ASSERT_EQ(replayed.exit_code, 0) << replayed.output;
  const nlohmann::json json = nlohmann::json::parse(folder_.read("r.json"));
  EXPECT_EQ(json.at("steps"), (std::vector<int>{0, 4, 8}));
  const std::size_t first = 784 * 6 + 6, second = 6 * 10 + 10;
  EXPECT_EQ(json.at("tensors").at(0), (nlohmann::json{{"name", "layer0"}, {"dtype", "f32"}, {"count", first}}));
  EXPECT_EQ(json.at("tensors").at(1), (nlohmann::json{{"name", "layer1"}, {"dtype", "f32"}, {"count", second}}));
  const nlohmann::json& dense = json.at("methods").at(0);
  EXPECT_EQ(dense.at("bytes_per_rank"), static_cast<double>((first + second) * sizeof(float)));
  EXPECT_LT(dense.at("error_median"), 1e-7) << "one rounding to f32";
  EXPECT_GT(dense.at("error_median"), 0.0) << "gradients are no integers";
}

TEST_F(Record, ARunThatWasKilledGoesOnWithItsRecording) {
  constexpr int steps = 3000;
  const auto run = [&](const std::string& name) {
    return launched({"run", config(name, steps, 1, "checkpoint_every = 70"), "--quiet", "--record", file(name),
                     "--record-every", "300"});
  };
  const Outcome alone = lacuna(run("alone"));
  ASSERT_EQ(alone.exit_code, 0) << alone.output;
  std::vector<std::string> words = run("killed");
  words.insert(words.begin(), LACUNA_COMMAND);
  {
    test::Executed killed(words, {});
    ASSERT_TRUE(waits_for_a_set(killed, folder_ / "killed" / "seed-1" / "skip")) << killed.output();
    ASSERT_NO_FATAL_FAILURE(kill_run(killed, folder_ / "killed"));
  }
  const std::vector<std::int64_t> done = steps_of(file("killed"));
  EXPECT_GE(done.size(), 1u);
  EXPECT_LT(done.size(), 10u);
  const Outcome again = lacuna(run("killed"));
  ASSERT_EQ(again.exit_code, 0) << again.output;
  EXPECT_EQ(steps_of(file("killed")).size(), 10u);
  EXPECT_TRUE(folder_.read("killed.h5") == folder_.read("alone.h5"));
}

TEST_F(Record, WhatIsNotOfThisRunIsNotReplaced) {
  const auto run = [&](int steps, int seed, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run", config("run", steps, seed), "--fresh", "--record", file("g")};
    words.insert(words.end(), more.begin(), more.end());
    return lacuna(launched(words));
  };
  ASSERT_EQ(run(2, 1, {}).exit_code, 0);
  const std::string before = folder_.read("g.h5");
  for (const Outcome& other : {run(3, 1, {}), run(2, 2, {}), run(2, 1, {"--record-every", "2"})}) {
    EXPECT_EQ(other.exit_code, 1);
    EXPECT_EQ(count(other.output, "what is there is not replaced: "), 1u) << other.output;
    EXPECT_EQ(count(other.output, "fingerprint"), 0u) << other.output;
  }
  EXPECT_TRUE(folder_.read("g.h5") == before);
  EXPECT_EQ(run(2, 1, {}).exit_code, 0) << "its own is begun anew";
  std::ofstream(file("g")) << "something precious";
  EXPECT_EQ(run(2, 1, {}).exit_code, 1);
  EXPECT_EQ(folder_.read("g.h5"), "something precious");
}

TEST_F(Record, AMethodThatHasEndedCannotBeRecordedAndThatIsTold) {
  const std::string path = config("run", 3);
  ASSERT_EQ(lacuna(launched({"run", path})).exit_code, 0);
  const Outcome again = lacuna(launched({"run", path, "--record", file("g")}));
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_EQ(count(again.output, "'skip', whose gradients it would hold, has ended already. --fresh begins"), 1u)
      << again.output;
  EXPECT_FALSE(std::filesystem::exists(file("g")));
}

TEST_F(Record, ARunThatHasRecordedMayBeRepeated) {
  const std::vector<std::string> run = launched({"run", config("run", 3), "--record", file("g")});
  ASSERT_EQ(lacuna(run).exit_code, 0);
  const std::string before = folder_.read("g.h5");
  const Outcome again = lacuna(run);
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_EQ(count(again.output, "\ngradients: " + file("g") + "\n"), 1u) << again.output;
  EXPECT_TRUE(folder_.read("g.h5") == before);
}

TEST_F(Record, GradientsThatOnlySomeRanksReduceTogetherAreRefused) {
  const std::filesystem::path path = folder_ / "grid.toml";
  std::ofstream(path) << fmt::format(
      "[run]\nname = \"grid\"\noutput = \"{}\"\nsteps = 2\n[workload]\nkind = \"parallel_mlp\"\nimages = 3000\nhidden "
      "= "
      "[6]\ntensor = 2\n[[method]]\nname = \"dense\"\n",
      (folder_ / "grid").string());
  const Outcome refused = lacuna(launched({"run", path, "--record", file("g")}));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(count(refused.output, "'layer1' is reduced by groups of 1 of 2 ranks"), 1u) << refused.output;
  EXPECT_FALSE(std::filesystem::exists(file("g")));
}

TEST_F(Record, AWorkloadWithoutGradientsIsRefused) {
  const std::filesystem::path path = folder_ / "heat.toml";
  std::ofstream(path) << fmt::format(
      "[run]\nname = \"heat\"\noutput = \"{}\"\nsteps = 2\n[workload]\nkind = \"heat\"\nrows = 8\ncolumns = 8\n"
      "[[method]]\nname = \"dense\"\n",
      (folder_ / "heat").string());
  const Outcome refused = lacuna(launched({"run", path, "--record", file("g")}));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(count(refused.output, "--record " + file("g") + ": this workload has no gradients to record"), 1u)
      << refused.output;
  EXPECT_FALSE(std::filesystem::exists(file("g")));
}

}  // namespace
}  // namespace lacuna::cli
