#include "runtime/log.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace lacuna::runtime {
namespace {

using Lines = std::vector<std::pair<LogLevel, std::string>>;

/// Collects the lines of one test; standard error and the default level are back after it.
class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    set_log_level(LogLevel::Warning);
    set_log_sink(&LogTest::collect, this);
  }
  ~LogTest() override {
    set_log_sink(nullptr, nullptr);
    set_log_level(LogLevel::Warning);
    set_log_rank(-1);
  }

  static void collect(LogLevel level, std::string_view text, void* user) {
    static_cast<LogTest*>(user)->lines_.emplace_back(level, text);
  }

  Lines lines_;
};

TEST_F(LogTest, LinesAboveTheLevelAreDropped) {
  set_log_level(LogLevel::Info);
  log_error("one");
  log_warning("two {}", 2);
  log_info("three {} {}", 3, "c");
  log_debug("four");
  const Lines expected = {{LogLevel::Error, "one"}, {LogLevel::Warning, "two 2"}, {LogLevel::Info, "three 3 c"}};
  EXPECT_EQ(lines_, expected);
}

TEST_F(LogTest, WithoutACallbackLinesGoToStandardError) {
  set_log_sink(nullptr, nullptr);
  ::testing::internal::CaptureStderr();
  log_warning("the sky is {}", "falling");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "lacuna warning: the sky is falling\n");
  EXPECT_TRUE(lines_.empty());
}

TEST_F(LogTest, LinesOnStandardErrorCarryTheRankOnceItIsKnown) {
  set_log_sink(nullptr, nullptr);
  set_log_rank(3);
  ::testing::internal::CaptureStderr();
  log_error("gone");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "lacuna [rank 3] error: gone\n");
}

TEST_F(LogTest, ACallbackMayLogAndReplaceItself) {
  set_log_sink(
      [](LogLevel level, std::string_view text, void* user) {
        set_log_sink(&LogTest::collect, user);
        log_warning("nested");
        collect(level, text, user);
      },
      this);
  log_warning("outer");
  const Lines expected = {{LogLevel::Warning, "nested"}, {LogLevel::Warning, "outer"}};
  EXPECT_EQ(lines_, expected);
}

TEST_F(LogTest, LinesOfManyThreadsStayWholeOnStandardError) {
  set_log_sink(nullptr, nullptr);
  ::testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) log_warning("{}", std::string(50, 'x'));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string line = "lacuna warning: " + std::string(50, 'x') + "\n";
  std::string expected;
  for (int i = 0; i < 400; ++i) expected += line;
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), expected);
}

TEST_F(LogTest, TheLevelComesFromTheEnvironmentUntilItIsSet) {
  const auto admits_info = [](const char* value) {
    setenv("LACUNA_LOG", value, 1);
    detail::log_threshold = detail::log_level_unknown;
    const bool admitted = log_enabled(LogLevel::Info);
    unsetenv("LACUNA_LOG");
    return admitted;
  };
  EXPECT_TRUE(admits_info("debug"));
  EXPECT_TRUE(admits_info("info"));
  EXPECT_FALSE(admits_info("error"));
  EXPECT_FALSE(admits_info("loud"));
  EXPECT_FALSE(admits_info(""));
}

TEST_F(LogTest, NamesOfLevelsReadBack) {
  for (LogLevel level : all_log_levels) EXPECT_EQ(parse_log_level(to_string(level)), level);
  EXPECT_EQ(parse_log_level("verbose"), std::nullopt);
}

}  // namespace
}  // namespace lacuna::runtime
