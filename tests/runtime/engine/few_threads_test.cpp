#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/runtime/job/watch_job.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;

/// From now on this process gets no further thread. Returns false if that is not possible here.
bool allow_no_thread() {
  constexpr uid_t nobody = 65534;  // root ignores the limit
  const rlimit none{0, 0};
  return (::geteuid() != 0 || ::setuid(nobody) == 0) && ::setrlimit(RLIMIT_NPROC, &none) == 0;
}

TEST(FewThreads, AnExecutorWithoutItsThreadSaysSo) {
  Process alone([](const Process::Say& say) {
    RanksOptions options{.network = {}, .executor = quick_executor()};
    options.executor.progress_thread = true;
    runtime::Executor executor(std::move(make_inproc(1, {})[0]), 0, 1, options.executor);
    if (!allow_no_thread()) return say("skipped");
    say(executor.connect({{}}).to_string());
  });
  const std::string said = alone.line();
  if (said == "skipped") GTEST_SKIP() << "the number of threads can't be limited here";
  EXPECT_EQ(said.rfind("internal error: the thread that makes progress can't be started: ", 0), 0u) << said;
}

TEST(FewThreads, AWatchWithoutItsThreadsSaysSo) {
  Process alone([](const Process::Say& say) {
    const ReservedPort port;
    runtime::Membership other;
    std::thread second([&] { other = runtime::enter(1, 2, port.store(), 10s); });
    runtime::Membership own = runtime::enter(0, 2, port.store(), 10s);
    second.join();
    runtime::WatchedProcess client;
    if (!allow_no_thread()) return say("skipped");
    say(runtime::Watch::start(own, client).status().to_string());
  });
  const std::string said = alone.line();
  if (said == "skipped") GTEST_SKIP() << "the number of threads can't be limited here";
  EXPECT_EQ(said.rfind("internal error: the system has no thread for the watch: ", 0), 0u) << said;
}

}  // namespace
}  // namespace lacuna::test
