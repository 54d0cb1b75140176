#include "runtime/observe/log.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/values/thread.hpp"

namespace lacuna::runtime {
namespace {

using Lines = std::vector<std::pair<LogLevel, std::string>>;

/// Collects the log lines of one test. Afterwards it restores standard error and the default level.
class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    set_log_levels(LogLevel::Warning);
    set_log_sink(&LogTest::collect, this);
  }
  ~LogTest() override {
    set_log_sink(nullptr, nullptr);
    set_log_levels(LogLevel::Warning);
    set_log_rank(-1);
  }

  static void collect(LogLevel level, std::string_view text, void* user) {
    static_cast<LogTest*>(user)->lines_.emplace_back(level, text);
  }

  Lines lines_;
};

TEST_F(LogTest, LinesAboveTheLevelAreDropped) {
  set_log_levels(LogLevel::Info);
  log_error(Subsystem::Job, "one");
  log_warning(Subsystem::Job, "two {}", 2);
  log_info(Subsystem::Job, "three {} {}", 3, "c");
  log_debug(Subsystem::Job, "four");
  const Lines expected = {
      {LogLevel::Error, "job: one"}, {LogLevel::Warning, "job: two 2"}, {LogLevel::Info, "job: three 3 c"}};
  EXPECT_EQ(lines_, expected);
}

TEST_F(LogTest, WithoutACallbackLinesGoToStandardError) {
  set_log_sink(nullptr, nullptr);
  ::testing::internal::CaptureStderr();
  log_warning(Subsystem::Job, "the sky is {}", "falling");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "lacuna warning: job: the sky is falling\n");
  EXPECT_TRUE(lines_.empty());
}

TEST_F(LogTest, BytesThatAreNotUtf8AreEscaped) {
  log_error(Subsystem::Config, "the folder {} is gone", "caf\xe9");
  EXPECT_EQ(lines_, (Lines{{LogLevel::Error, "config: the folder caf\\xe9 is gone"}}));
}

TEST_F(LogTest, LinesOnStandardErrorCarryTheRankOnceItIsKnown) {
  set_log_sink(nullptr, nullptr);
  set_log_rank(3);
  ::testing::internal::CaptureStderr();
  log_error(Subsystem::Job, "gone");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "lacuna [rank 3] error: job: gone\n");
}

TEST_F(LogTest, ACallbackMayLogAndReplaceItself) {
  set_log_sink(
      [](LogLevel level, std::string_view text, void* user) {
        set_log_sink(&LogTest::collect, user);
        log_warning(Subsystem::Job, "nested");
        collect(level, text, user);
      },
      this);
  log_warning(Subsystem::Job, "outer");
  const Lines expected = {{LogLevel::Warning, "job: nested"}, {LogLevel::Warning, "job: outer"}};
  EXPECT_EQ(lines_, expected);
}

TEST_F(LogTest, HeldLinesAreWrittenInOrderWhenTheThreadsLastHoldEnds) {
  Lines before;
  {
    const LogHold outer;
    {
      const LogHold inner;
      log_warning(Subsystem::Job, "one");
    }
    log_warning(Subsystem::Job, "two");
    std::thread([] { log_warning(Subsystem::Job, "of another thread"); }).join();
    before = lines_;
  }
  log_warning(Subsystem::Job, "three");
  EXPECT_EQ(before, (Lines{{LogLevel::Warning, "job: of another thread"}}));
  const Lines expected = {{LogLevel::Warning, "job: of another thread"},
                          {LogLevel::Warning, "job: one"},
                          {LogLevel::Warning, "job: two"},
                          {LogLevel::Warning, "job: three"}};
  EXPECT_EQ(lines_, expected);
}

TEST_F(LogTest, ACallbackThatHoldsAndLogsItselfLosesNoHeldLineAndKeepsTheirOrder) {
  set_log_sink(
      [](LogLevel level, std::string_view text, void* user) {
        collect(level, text, user);
        if (text != "job: one") return;
        const LogHold hold;
        log_warning(Subsystem::Job, "of the callback");
      },
      this);
  {
    const LogHold hold;
    log_warning(Subsystem::Job, "one");
    log_warning(Subsystem::Job, "two");
  }
  const Lines expected = {
      {LogLevel::Warning, "job: one"}, {LogLevel::Warning, "job: two"}, {LogLevel::Warning, "job: of the callback"}};
  EXPECT_EQ(lines_, expected);
}

/// A callback that waits for a mutex before it takes a line.
struct PatientLog {
  static void collect(LogLevel, std::string_view text, void* user) {
    auto& log = *static_cast<PatientLog*>(user);
    const std::lock_guard lock(log.mutex);
    log.lines.emplace_back(text);
  }

  std::mutex mutex;
  std::vector<std::string> lines;
};

TEST_F(LogTest, AThreadOfTheLibraryDoesNotWaitForTheCallbackAndItsLinesKeepTheirOrder) {
  PatientLog log;
  set_log_sink(&PatientLog::collect, &log);
  {
    const std::lock_guard blocked(log.mutex);
    start_thread([] {
      for (int i = 0; i < 100; ++i) log_warning(Subsystem::Job, "{}", i);
    }).join();  // this works although no line can be written
    EXPECT_FALSE(finish_log_lines(std::chrono::milliseconds(0)));
  }
  EXPECT_TRUE(finish_log_lines(std::chrono::seconds(20)));
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) expected.push_back("job: " + std::to_string(i));
  EXPECT_EQ(log.lines, expected);
}

TEST_F(LogTest, WithoutACallbackAThreadOfTheLibraryWritesItsLinesItself) {
  set_log_sink(nullptr, nullptr);
  ::testing::internal::CaptureStderr();
  start_thread([] { log_warning(Subsystem::Job, "mine"); }).join();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "lacuna warning: job: mine\n");
}

TEST_F(LogTest, LinesOfManyThreadsStayWholeOnStandardError) {
  set_log_sink(nullptr, nullptr);
  ::testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) log_warning(Subsystem::Job, "{}", std::string(50, 'x'));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string line = "lacuna warning: job: " + std::string(50, 'x') + "\n";
  std::string expected;
  for (int i = 0; i < 400; ++i) expected += line;
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), expected);
}

TEST_F(LogTest, EachSubsystemHasALevelOfItsOwn) {
  set_log_levels(*LogLevels::parse("error,transport=debug"));
  log_info(Subsystem::Job, "one");
  log_debug(Subsystem::Transport, "two");
  log_error(Subsystem::Job, "three");
  const Lines expected = {{LogLevel::Debug, "transport: two"}, {LogLevel::Error, "job: three"}};
  EXPECT_EQ(lines_, expected);
}

TEST_F(LogTest, TheLevelsComeFromTheEnvironmentUntilTheyAreSet) {
  const auto admits_info = [](Subsystem subsystem, const char* value) {
    setenv("LACUNA_LOG", value, 1);
    for (detail::LogThreshold& threshold : detail::log_thresholds) threshold.level = detail::log_level_unknown;
    const bool admitted = log_enabled(subsystem, LogLevel::Info);
    unsetenv("LACUNA_LOG");
    return admitted;
  };
  EXPECT_TRUE(admits_info(Subsystem::Job, "debug"));
  EXPECT_TRUE(admits_info(Subsystem::Job, "info"));
  EXPECT_FALSE(admits_info(Subsystem::Job, "error"));
  EXPECT_FALSE(admits_info(Subsystem::Job, "loud"));
  EXPECT_FALSE(admits_info(Subsystem::Job, ""));
  EXPECT_TRUE(admits_info(Subsystem::Job, "job=info"));
  EXPECT_FALSE(admits_info(Subsystem::Executor, "job=info"));
}

TEST_F(LogTest, NamesOfLevelsReadBack) {
  for (LogLevel level : all_log_levels) EXPECT_EQ(parse_log_level(to_string(level)), level);
  EXPECT_EQ(parse_log_level("verbose"), std::nullopt);
}

std::string levels_of(std::string_view text) {
  const auto levels = LogLevels::parse(text);
  if (!levels) return "not allowed";
  std::string all;
  for (Subsystem subsystem : all_subsystems) all += to_string(levels->of(subsystem)).front();
  return all;  // in the order config, job, executor, transport, trace
}

TEST(LogLevels, ALevelForAllAndThoseOfSingleSubsystemsAreReadInAnyOrder) {
  EXPECT_EQ(levels_of("info"), "iiiii");
  EXPECT_EQ(levels_of("transport=debug"), "wwwdw");
  EXPECT_EQ(levels_of("info,transport=debug,job=error"), "ieidi");
  EXPECT_EQ(levels_of("job=error,info"), "ieiii");
}

TEST(LogLevels, WhatIsNotAllowedIsRefused) {
  for (const char* text : {"", "loud", "info,", ",info", "info,info", "job=info,job=info", "job", "=info",
                           "job=", "job=info=debug", "info job", "jobs=info", "Info"}) {
    EXPECT_EQ(levels_of(text), "not allowed") << text;
  }
}

TEST(LogLevels, WhatIsShownReadsBack) {
  for (const char* text : {"debug", "info,transport=debug", "error,job=info,trace=debug"}) {
    EXPECT_EQ(LogLevels::parse(text)->to_string(), text);
  }
}

}  // namespace
}  // namespace lacuna::runtime
