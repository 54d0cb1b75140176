#include "bindings/cli/watch/watch.hpp"

#include <algorithm>
#include <csignal>
#include <numeric>
#include <thread>

#include "bindings/cli/run/steps.hpp"
#include "tests/bindings/cli/run/run_fixture.hpp"
#include "tests/processes/executed.hpp"

namespace lacuna::cli {
namespace {

class Watch : public RunTest {
 protected:
  checkpoint::StepTable steps(const std::string& name, const std::string& label) const {
    Result<checkpoint::StepTable> table = checkpoint::read_steps(sets(name, label) / step_file_name);
    EXPECT_TRUE(table) << table.status().to_string();
    return table ? *std::move(table) : checkpoint::StepTable();
  }
  static std::vector<double> column(const checkpoint::StepTable& table, const std::string& name) {
    for (const checkpoint::StepColumn& one : table.columns) {
      if (one.name == name) return one.values;
    }
    ADD_FAILURE() << "there is no column " << name;
    return {};
  }
  static double sum(const std::vector<double>& values, std::size_t begin, std::size_t end) {
    const auto at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
    return std::accumulate(at(begin), at(end), 0.0);
  }
  Outcome watch_once(const std::string& name) const { return lacuna({"watch", folder_ / name, "--once"}); }
};

TEST_F(Watch, TheNumbersOfStepsAddUpToThoseOfEvaluations) {
  const Outcome ran = run("r", {.run = "steps = 12\nevaluate_every = 5"});
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const auto file = checkpoint::read_results(folder_ / "r" / "r.h5");
  ASSERT_TRUE(file) << file.status().to_string();
  for (const auto& method : file->methods) {
    const checkpoint::StepTable table = steps("r", method.method);
    ASSERT_EQ(table.places(), 12u);
    EXPECT_EQ(std::count(table.known.begin(), table.known.end(), 1), 12);
    for (const auto& result : method.columns) {
      const bool is_loss = result.name == "training_loss";
      if (!is_loss && result.name != "payload_bytes" && result.name != "seconds") continue;
      const std::vector<double> values = column(table, result.name);
      std::size_t begin = 0;
      for (std::size_t i = 0; i < method.steps.size(); ++i) {
        const auto end = static_cast<std::size_t>(method.steps[i]);
        const double expected =
            is_loss ? sum(values, begin, end) / static_cast<double>(end - begin) : sum(values, 0, end);
        EXPECT_NEAR(result.values[i], expected, 1e-9 * expected) << method.method << " " << result.name << " " << end;
        begin = end;
      }
    }
  }
}

TEST_F(Watch, ShowsWhatIsDoneAndWhatIsLeft) {
  const Outcome ran = run("r", {.run = "steps = 12"});
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const Outcome shown = watch_once("r"), of_file = lacuna({"watch", folder_ / "r" / "r.h5"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_EQ(of_file.output, shown.output);
  EXPECT_EQ(count(shown.output, "\nskip +1 +12 / 12 .* done .*%\n"), 1u) << shown.output;
  const Outcome grown = run("r", {.run = "steps = 20", .methods = dense});
  ASSERT_EQ(grown.exit_code, 0) << grown.output;
  const Outcome after = watch_once("r");
  EXPECT_EQ(count(after.output, "\ndense +1 +20 / 20 "), 1u) << after.output;
}

TEST_F(Watch, ARunCanBeWatchedWhileItGoesOn) {
  std::vector<std::string> command = words("r", {.run = "steps = 100000000\ncheckpoint_every = 10"});
  command.insert(command.begin(), LACUNA_COMMAND);
  test::Executed going(command, {});
  Outcome shown;
  do {
    shown = watch_once("r");
  } while (going.wait(std::chrono::milliseconds(20)) < 0 &&
           count(shown.output, "\ndense +1 +[1-9][0-9]+ / 100000000 ") == 0);
  EXPECT_EQ(count(shown.output, "\nskip +1 +0 / 100000000 "), 1u) << shown.output << going.output();
  ASSERT_NO_FATAL_FAILURE(kill_run(going, folder_ / "r"));
  const checkpoint::StepTable table = steps("r", "dense");
  EXPECT_GE(std::count(table.known.begin(), table.known.end(), 1), 10);
}

TEST_F(Watch, StepsThatAKilledRunHadNotSavedAreDoneAgain) {
  const Wanted wanted{.run = "steps = 1500\ncheckpoint_every = 200", .methods = dense};
  std::vector<std::string> command = words("r", wanted);
  command.insert(command.begin(), LACUNA_COMMAND);
  {
    test::Executed begun(command, {});
    ASSERT_TRUE(waits_for_a_set(begun, sets("r", "dense"))) << begun.output();
    ASSERT_NO_FATAL_FAILURE(kill_run(begun, folder_ / "r"));
  }
  const Outcome ended = run("r", wanted);
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  const Outcome fresh = run("fresh", wanted);
  ASSERT_EQ(fresh.exit_code, 0) << fresh.output;
  const checkpoint::StepTable table = steps("r", "dense");
  EXPECT_EQ(std::count(table.known.begin(), table.known.end(), 1), 1500);
  EXPECT_EQ(column(table, "training_loss"), column(steps("fresh", "dense"), "training_loss"));
}

TEST_F(Watch, AFolderWithoutARunIsRefused) {
  const Outcome refused = lacuna({"watch", folder_ / "nothing"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.output.find("nothing holds no run; give the output folder"), std::string::npos) << refused.output;
  EXPECT_EQ(lacuna({"watch"}).exit_code, 2);
}

}  // namespace
}  // namespace lacuna::cli
