#include "bindings/cli/run/steps.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "tests/support/environment.hpp"

namespace lacuna::cli {
namespace {

class StepLogTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string text =
        "[run]\nname = \"r\"\noutput = \"" + (folder_ / "out").string() +
        "\"\nsteps = 100000\n[workload]\nkind = \"fashion_mnist\"\n[[method]]\nalgorithm = \"ring\"\n";
    Result<RunConfig> config = read_run_config({.file = "c.toml", .text = text});
    ASSERT_TRUE(config) << config.status().to_string();
    config_ = *std::move(config);
    work_ = work_of(config_, steps).front();
    std::filesystem::create_directories(work_.folder);
  }
  /// Returns the numbers of steps that follow the first `done` ones: 4 s and up for step s.
  static std::vector<double> numbers(std::uint64_t done, std::uint64_t count) {
    std::vector<double> numbers(4 * count);
    std::iota(numbers.begin(), numbers.end(), static_cast<double>(4 * (done + 1)));
    return numbers;
  }
  void expect_known(std::size_t places, std::uint64_t begin, std::uint64_t end) const {
    const Result<checkpoint::StepTable> table = checkpoint::read_steps(work_.folder / step_file_name);
    ASSERT_TRUE(table) << table.status().to_string();
    ASSERT_EQ(table->places(), places);
    for (std::size_t place = 0; place < places; ++place) {
      const bool known = place >= begin && place < end;
      ASSERT_EQ(table->known[place], known ? 1 : 0) << place;
      if (!known) continue;
      for (std::size_t column = 0; column < 4; ++column) {
        ASSERT_EQ(table->columns[column].values[place], static_cast<double>(4 * (place + 1) + column)) << place;
      }
    }
  }

  static constexpr std::uint64_t steps = 100'000;
  const test::Folder folder_;
  RunConfig config_;
  Work work_;
};

TEST_F(StepLogTest, TheFileGrowsWhenItsPlacesAreFull) {
  Result<StepLog> log = StepLog::make(config_, work_, steps, 0);
  ASSERT_TRUE(log) << log.status().to_string();
  expect_known(65536, 0, 0);
  ASSERT_TRUE(log->write(65530, numbers(65530, 6)));
  expect_known(65536, 65530, 65536);
  ASSERT_TRUE(log->write(65536, numbers(65536, 3)));
  expect_known(steps, 65530, 65539);
}

TEST_F(StepLogTest, AFileThatHasGrownStaysSoWhenTheRunContinues) {
  Result<StepLog> log = StepLog::make(config_, work_, steps, 0);
  ASSERT_TRUE(log && log->write(65536, numbers(65536, 8)));
  log = StepLog::make(config_, work_, steps, 65540);
  ASSERT_TRUE(log) << log.status().to_string();
  expect_known(steps, 65536, 65540);
}

}  // namespace
}  // namespace lacuna::cli
