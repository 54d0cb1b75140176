#include "bindings/cli/shared/number_table.hpp"
#include "tests/bindings/cli/run/run_fixture.hpp"

namespace lacuna::cli {
namespace {

class DryRun : public RunTest {
 protected:
  /// Returns what a dry run for two ranks says, which is in no job.
  Outcome dry(const std::string& name, const Wanted& wanted) const {
    return lacuna({"run", config(name, wanted), "--dry-run", "-p", "2"});
  }
};

TEST_F(DryRun, ThePayloadIsThatOfARun) {
  const Wanted wanted{.run = "steps = 5", .methods = dense + skip + "[[method]]\nname = \"topk\"\ndensity = 0.05\n"};
  const Outcome plan = dry("both", wanted), done = run("both", wanted);
  ASSERT_EQ(plan.exit_code, 0) << plan.output;
  ASSERT_EQ(done.exit_code, 0) << done.output;
  const auto known = results("both");
  for (const auto& [label, algorithm] :
       {std::pair("dense", "[a-z_, ]+"), std::pair("skip", "skip_[a-z_]+"), std::pair("topk", "sparse_[a-z_]+")}) {
    const double bytes = known.at(fmt::format("{} payload_bytes", label)).front();
    const std::string line =
        fmt::format("\n{} +0 +5 +{} +2 +{} +{}\n", label, algorithm, bytes_text(bytes / 5), bytes_text(bytes));
    EXPECT_EQ(count(plan.output, line), 1u) << line << plan.output;
  }
}

TEST_F(DryRun, ShowsTheValuesInEffectAndWritesNothing) {
  const Outcome plan = dry("none", {.run = "steps = 5\nseeds = [4, 2]"});
  EXPECT_EQ(plan.exit_code, 0) << plan.output;
  EXPECT_EQ(count(plan.output, "\nrun.seeds = .4, 2.\n"), 1u) << plan.output;
  EXPECT_EQ(count(plan.output, "\nworkload.batch = 16\n"), 1u) << "a default: " << plan.output;
  EXPECT_EQ(count(plan.output, "\n(dense|skip), seed [42] +0 +5 "), 4u) << plan.output;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none"));
}

TEST_F(DryRun, ShowsWhatIsDoneAndLeft) {
  ASSERT_EQ(run("grown", {.run = "steps = 5", .methods = dense}).exit_code, 0);
  const Outcome plan = dry("grown", {.run = "steps = 7", .methods = skip + dense});
  EXPECT_EQ(plan.exit_code, 0) << plan.output;
  EXPECT_EQ(count(plan.output, "\nskip +0 +7 +"), 1u) << plan.output;
  EXPECT_EQ(count(plan.output, "\ndense +5 +2 +"), 1u) << plan.output;
}

TEST_F(DryRun, IsRefusedWhereARunWouldBe) {
  ASSERT_EQ(run("refused", {.run = "steps = 5"}).exit_code, 0);
  const Outcome plan = dry("refused", {.run = "steps = 5", .workload = "batch = 17"});
  EXPECT_EQ(plan.exit_code, 1);
  EXPECT_EQ(count(plan.output, "workload.batch was 16, is now 17"), 2u) << plan.output;
}

TEST_F(DryRun, InAJobItIsForItsRanksAndRankZeroShowsIt) {
  const Outcome plan = run("job", {.run = "steps = 5"}, {"--dry-run"});
  EXPECT_EQ(plan.exit_code, 0) << plan.output;
  EXPECT_EQ(count(plan.output, "\nranks = 2\n"), 1u) << plan.output;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "job"));
}

TEST_F(DryRun, RanksAreForDryRunsOnly) {
  EXPECT_EQ(lacuna({"run", config("real", {}), "-p", "2"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "real"));
}

}  // namespace
}  // namespace lacuna::cli
