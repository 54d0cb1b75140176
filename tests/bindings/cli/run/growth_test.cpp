#include <cmath>

#include "bindings/cli/run/work.hpp"
#include "tests/bindings/cli/run/run_fixture.hpp"

namespace lacuna::cli {
namespace {

class Growth : public RunTest {
 protected:
  /// Runs the first config and then the second one in one folder, and the second one alone in another folder. Expects
  /// equal bits, and that the second run has evaluated only so often.
  void expect_grows(const Wanted& first, const Wanted& second, std::size_t evaluated) const {
    const Outcome begun = run("grown", first);
    ASSERT_EQ(begun.exit_code, 0) << begun.output;
    const Outcome grown = run("grown", second), fresh = run("fresh", second);
    ASSERT_EQ(grown.exit_code, 0) << grown.output;
    ASSERT_EQ(fresh.exit_code, 0) << fresh.output;
    EXPECT_EQ(results("grown"), results("fresh"));
    const std::vector<std::string> lines = evaluations(grown), all = evaluations(fresh);
    EXPECT_EQ(lines.size(), evaluated) << grown.output;
    for (const std::string& line : lines) EXPECT_EQ(std::count(all.begin(), all.end(), line), 1) << line;
  }

  /// Runs both configs in one folder. Expects that the second one is refused with this text and harms nothing.
  void expect_refused(const Wanted& first, const Wanted& second, const std::string& text) const {
    const Outcome begun = run("refused", first);
    ASSERT_EQ(begun.exit_code, 0) << begun.output;
    const std::string before = folder_.read("refused/r.h5");
    const Outcome refused = run("refused", second);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.output.find(text), std::string::npos) << refused.output;
    EXPECT_NE(refused.output.find("--fresh"), std::string::npos) << refused.output;
    EXPECT_TRUE(folder_.read("refused/r.h5") == before);
    const Outcome again = run("refused", first);
    EXPECT_EQ(again.exit_code, 0) << again.output;
    EXPECT_TRUE(evaluations(again).empty()) << again.output;
  }
};

TEST_F(Growth, MoreStepsContinueEveryMethod) {
  expect_grows({.run = "steps = 12\nevaluate_every = 5", .methods = dense + skip + topk},
               {.run = "steps = 19\nevaluate_every = 5", .methods = dense + skip + topk}, 3 * 2);
}

TEST_F(Growth, MoreEpochsContinueEveryMethod) {
  const Wanted one{.run = "epochs = 1", .workload = "batch = 500"}, two{.run = "epochs = 2", .workload = "batch = 500"};
  expect_grows(one, two, 2 * 1);
}

TEST_F(Growth, StepsMayBecomeEpochsThatAreLonger) {
  expect_grows({.run = "steps = 2", .workload = "batch = 500"}, {.run = "epochs = 2", .workload = "batch = 500"},
               2 * 2);
}

TEST_F(Growth, AMethodThatIsAddedIsTheOnlyOneThatRuns) {
  expect_grows({.methods = dense + skip}, {.methods = dense + topk + skip}, 1);
}

TEST_F(Growth, MethodsThatAreReorderedAndRemovedRunNothing) {
  expect_grows({.methods = dense + skip + topk}, {.methods = topk + dense}, 0);
  const Outcome back = run("grown", {.methods = skip + dense + topk});
  EXPECT_EQ(back.exit_code, 0) << back.output;
  EXPECT_TRUE(evaluations(back).empty()) << "what was removed comes back: " << back.output;
}

TEST_F(Growth, ASeedThatIsAddedIsTheOnlyOneThatRuns) {
  expect_grows({.run = "steps = 12\nseed = 3"}, {.run = "steps = 12\nseeds = [5, 3]"}, 2);
}

TEST_F(Growth, AllAtOnce) {
  expect_grows({.run = "steps = 12\nseeds = [3, 4]", .methods = dense + skip},
               {.run = "steps = 13\nseeds = [4, 5, 3]", .methods = topk + dense}, 3 * 2);
}

TEST_F(Growth, WorkThatHasOnlyBegunGoesOn) {
  std::vector<std::string> command = words("grown", {.run = "steps = 1500\ncheckpoint_every = 100"});
  command.insert(command.begin(), LACUNA_COMMAND);
  {
    test::Executed begun(command, {});
    ASSERT_TRUE(waits_for_a_set(begun, sets("grown", "dense"))) << begun.output();
    ASSERT_NO_FATAL_FAILURE(kill_run(begun, folder_ / "grown"));
  }
  const Wanted longer{.run = "steps = 1600\ncheckpoint_every = 100", .methods = skip + dense};
  const Outcome grown = run("grown", longer), fresh = run("fresh", longer);
  ASSERT_EQ(grown.exit_code, 0) << grown.output;
  EXPECT_EQ(count(grown.output, "\ndense: continues at step [0-9]+ of 1600\n"), 1u) << grown.output;
  ASSERT_EQ(fresh.exit_code, 0) << fresh.output;
  EXPECT_EQ(results("grown"), results("fresh"));
}

TEST_F(Growth, AChangedWorkloadIsRefusedWithTheDifference) {
  expect_refused({.workload = "momentum = 0.5"}, {.workload = "batch = 17"},
                 "\n  'dense' has done 12 steps: workload.batch was 16, is now 17; workload.momentum was 0.5, is now "
                 "0.9\n  'skip' has done 12 steps: ");
}

TEST_F(Growth, AChangedMethodIsRefusedWithTheDifference) {
  std::string changed = topk;
  changed.replace(changed.find("0.05"), 4, "0.1");
  expect_refused({.methods = dense + topk}, {.methods = dense + changed},
                 "already:\n  'topk' has done 12 steps: method.density was 0.05, is now 0.1\nPut the old values back");
  EXPECT_EQ(run("refused", {.methods = dense + topk + changed + "label = \"more\"\n"}).exit_code, 0);
}

TEST_F(Growth, FewerStepsThanAreDoneAreRefused) {
  expect_refused({.run = "steps = 12"}, {.run = "steps = 11"},
                 "'dense' has done 12 steps: run.steps is 11 in effect\n");
}

TEST_F(Growth, MoreStepsAreRefusedWhereEachStepDependsOnTheirNumber) {
  expect_refused({.run = "steps = 12", .workload = "decay = \"linear\""},
                 {.run = "steps = 13", .workload = "decay = \"linear\""}, "run.steps was 12, is now 13");
}

TEST_F(Growth, AnotherNumberOfRanksIsRefused) {
  ASSERT_EQ(run("ranks", {}).exit_code, 0);
  const Outcome alone = lacuna({"run", folder_ / "ranks.toml"});
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_EQ(count(alone.output, "is of a job of 2 ranks, this job has 1"), 1u) << alone.output;
}

TEST_F(Growth, AFreshRunForgetsAllSeedsAndMethods) {
  ASSERT_EQ(run("fresh", {.run = "steps = 3\nseeds = [1, 2]", .methods = dense + skip}).exit_code, 0);
  const Outcome again = run("fresh", {.run = "steps = 2\nseed = 2", .methods = dense}, {"--fresh"});
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_EQ(evaluations(again).size(), 1u) << again.output;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "fresh" / "seed-1"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "fresh" / "seed-2" / "skip"));
}

TEST_F(Growth, ACheckpointOfTheLayoutBeforeIsRefusedUnlessARunIsFresh) {
  ASSERT_EQ(run("old", {.run = "steps = 2"}).exit_code, 0);
  const std::filesystem::path manifest = folder_ / "old" / "manifest-2.json";
  std::filesystem::copy_file(folder_ / "old" / "seed-1" / "dense" / "manifest-2.json", manifest);
  const Outcome refused = run("old", {.run = "steps = 2"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(count(refused.output, "manifest-2.json is a checkpoint of an earlier lacuna"), 1u) << refused.output;
  EXPECT_EQ(run("old", {.run = "steps = 2"}, {"--fresh"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(manifest));
}

TEST_F(Growth, SeveralSeedsHaveMeansAndDeviationsInTheTable) {
  const Outcome both = run("both", {.run = "steps = 5\nseeds = [1, 2]", .methods = dense});
  ASSERT_EQ(both.exit_code, 0) << both.output;
  EXPECT_EQ(count(both.output, "\nmethod  seeds  epochs +test accuracy "), 1u) << both.output;
  EXPECT_EQ(count(both.output, "\ndense       2 +[0-9.]+ +[0-9.]+ ± [0-9.]+ % +[0-9.]+ ± [0-9.]+ s "), 1u)
      << both.output;
  const auto known = results("both");
  const double one = known.at("dense 1 test_accuracy").back(), two = known.at("dense 2 test_accuracy").back();
  EXPECT_NE(one, two);
  EXPECT_DOUBLE_EQ(known.at("dense test_accuracy").front(), (one + two) / 2);
  EXPECT_NEAR(known.at("dense test_accuracy_deviation").front(), std::abs(one - two) / std::sqrt(2), 1e-12);
  EXPECT_EQ(known.at("dense seeds").front(), 2);
}

TEST(RunWork, DifferencesNameKeysAndBothValues) {
  EXPECT_EQ(difference_of_values("a.b = 1\nc = x = y\n", "a.b = 1\nc = x = y\n"), "");
  EXPECT_EQ(difference_of_values("a = 1\nb = 2\nd = 5\n", "b = 3\na = 1\nc = [1, 2]\n"),
            "b was 2, is now 3; d was 5, is now not there; c was not there, is now [1, 2]");
}

}  // namespace
}  // namespace lacuna::cli
