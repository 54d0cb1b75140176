#include "kernels/kokkos/turn.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace lacuna::kernels {
namespace {

constexpr int callers = 4, rounds = 500;

/// Several threads give work to the turn. Returns how often work was not done when run() returned.
template <class Work>
int not_done(Turn& turn, const Work& work) {
  std::array<int, callers> missing{};
  std::vector<std::thread> threads;
  for (int caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, caller] {
      for (int round = 0; round < rounds; ++round) {
        bool done = false;
        turn.run([&] {
          work();
          done = true;
        });
        missing[static_cast<std::size_t>(caller)] += !done;
      }
    });
  }
  int all = 0;
  for (std::thread& thread : threads) thread.join();
  for (int count : missing) all += count;
  return all;
}

/// Returns what `body` returns. Nothing if that takes too long; then `body` goes on, so it must own everything that it
/// uses.
template <class Body>
std::optional<int> in_time(Body body) {
  std::packaged_task<int()> task(std::move(body));
  std::future<int> result = task.get_future();
  std::thread(std::move(task)).detach();
  if (result.wait_for(std::chrono::seconds(60)) != std::future_status::ready) return std::nullopt;
  return result.get();
}

TEST(Turn, OneRunsAtATime) {
  struct Shared {
    Turn turn;
    int sum = 0;
  };
  const auto shared = std::make_shared<Shared>();
  EXPECT_EQ(in_time([shared] {
              return not_done(shared->turn, [&sum = shared->sum] {
                const int before = sum;
                std::this_thread::yield();
                sum = before + 1;
              });
            }),
            0);
  EXPECT_EQ(shared->sum, callers * rounds);
}

TEST(Turn, AThreadOfItsOwnRunsAll) {
  struct Shared {
    Shared() { turn.set_thread(&thread); }

    OwnThread thread;
    Turn turn;
    int sum = 0;
    std::set<std::thread::id> ids;
  };
  const auto shared = std::make_shared<Shared>();
  ASSERT_EQ(in_time([shared] {
              return not_done(shared->turn, [&all = *shared] {
                ++all.sum;
                all.ids.insert(std::this_thread::get_id());
              });
            }),
            0)
      << "nothing: a work has not ended in time";
  EXPECT_EQ(shared->sum, callers * rounds);
  EXPECT_EQ(shared->ids.size(), 1u);
  EXPECT_FALSE(shared->ids.contains(std::this_thread::get_id()));
}

TEST(Turn, AThreadOfItsOwnTakesNoSignalOfTheProgram) {
  OwnThread thread;
  Turn turn;
  turn.set_thread(&thread);
  sigset_t blocked;
  turn.run([&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked); });
  for (const int number : {SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGTERM, SIGCHLD, SIGALRM, SIGPROF}) {
    EXPECT_EQ(sigismember(&blocked, number), 1) << "signal " << number;
  }
}

}  // namespace
}  // namespace lacuna::kernels
