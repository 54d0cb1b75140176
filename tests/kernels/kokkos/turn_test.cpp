#include "kernels/kokkos/turn.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace lacuna::kernels {
namespace {

constexpr int callers = 4, rounds = 500;

/// From several threads, each of which sees its work done when it returns; how often it was not.
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

TEST(Turn, OneRunsAtATime) {
  Turn turn;
  int sum = 0;
  const auto add_slowly = [&sum] {
    const int before = sum;
    std::this_thread::yield();
    sum = before + 1;
  };
  EXPECT_EQ(not_done(turn, add_slowly), 0);
  EXPECT_EQ(sum, callers * rounds);
}

TEST(Turn, AThreadOfItsOwnRunsAll) {
  OwnThread thread;
  Turn turn;
  turn.set_thread(&thread);
  int sum = 0;
  std::set<std::thread::id> ids;
  const auto work = [&] {
    ++sum;
    ids.insert(std::this_thread::get_id());
  };
  EXPECT_EQ(not_done(turn, work), 0);
  EXPECT_EQ(sum, callers * rounds);
  EXPECT_EQ(ids.size(), 1u);
  EXPECT_FALSE(ids.contains(std::this_thread::get_id()));
}

}  // namespace
}  // namespace lacuna::kernels
