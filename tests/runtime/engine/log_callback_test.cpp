#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "runtime/observe/log.hpp"
#include "tests/support/calls.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

constexpr auto long_enough = 20s;  // the time limit for what must not wait

/// A logger of a program. It needs a lock that another thread of the program may hold. Only its first line waits for
/// it.
class Logger {
 public:
  Logger() {
    runtime::set_log_levels(LogLevel::Info);
    runtime::set_log_sink(write, this);
  }
  ~Logger() {
    runtime::finish_log_lines(long_enough);
    runtime::set_log_sink(nullptr, nullptr);
    runtime::set_log_levels(LogLevel::Warning);
  }

  bool waits_soon() const {
    const auto until = runtime::Clock::now() + long_enough;
    while (!waits_ && runtime::Clock::now() < until) std::this_thread::yield();
    return waits_;
  }
  bool gave_up() const { return gave_up_; }

  std::mutex mutex;

 private:
  static void write(LogLevel, std::string_view, void* user) {
    auto& logger = *static_cast<Logger*>(user);
    if (logger.waits_.exchange(true)) return;
    const auto until = runtime::Clock::now() + long_enough;
    while (!logger.mutex.try_lock()) {
      if (runtime::Clock::now() >= until) {
        logger.gave_up_ = true;
        return;
      }
      std::this_thread::yield();
    }
    logger.mutex.unlock();
  }

  std::atomic<bool> waits_{false}, gave_up_{false};
};

/// Two ranks, with or without a thread that makes progress. Their stalled calls are logged.
class LogCallback : public testing::TestWithParam<bool> {
 protected:
  static RanksOptions options() {
    RanksOptions options{.executor = quick_executor()};
    options.executor.progress_thread = GetParam();
    options.executor.stall = 1ms;
    return options;
  }

  Logger logger_;
  Ranks ranks_{2, options()};
};

TEST_P(LogCallback, MayWaitForALockThatAnotherThreadHoldsWhileItStartsTestsAndWaits) {
  const Floats input(10, 1);
  std::vector<Floats> outputs(4, Floats(10));
  std::unique_lock held(logger_.mutex);
  runtime::Communicator& mine = ranks_.communicator(0);
  runtime::Run& stalled = must_post(mine, allreduce_call(input, outputs[0]));
  // This thread may be the one that logs.
  std::thread waits_too([&] { static_cast<void>(mine.wait(stalled, long_enough)); });
  EXPECT_TRUE(logger_.waits_soon());
  runtime::Run& second = must_post(mine, allreduce_call(input, outputs[1]));
  EXPECT_FALSE(mine.test(second));
  std::thread other([&] {
    for (Floats* output : {&outputs[2], &outputs[3]}) {
      EXPECT_TRUE(ranks_.run_on(1, allreduce_call(input, *output)));
    }
  });
  EXPECT_TRUE(mine.wait(second, long_enough));
  EXPECT_FALSE(logger_.gave_up());
  held.unlock();
  other.join();
  waits_too.join();
  for (const Floats& output : outputs) EXPECT_EQ(output, Floats(10, 2));
}

INSTANTIATE_TEST_SUITE_P(, LogCallback, testing::Bool(),
                         [](const auto& one) { return one.param ? "ProgressThread" : "Callers"; });

}  // namespace
}  // namespace lacuna::test
