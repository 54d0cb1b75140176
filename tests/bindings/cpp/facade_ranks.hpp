#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

using Clock = std::chrono::steady_clock;

/// Makes the ranks of a job in this process.
inline std::vector<Communicator> local(Rank size, Progress progress) {
  auto ranks = Communicator::local(size, {.progress = progress});
  EXPECT_TRUE(ranks) << ranks.status().to_string();
  EXPECT_EQ(ranks->size(), static_cast<std::size_t>(size));
  return *std::move(ranks);
}

/// Calls body(rank's communicator) on a thread for each rank.
inline void on_each(std::vector<Communicator>& ranks, const std::function<void(Communicator&)>& body) {
  std::vector<std::thread> threads;
  for (Communicator& rank : ranks) threads.emplace_back([&] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

/// Where the communicators of a test come from. They are all ranks of a job. Or they are a group of a group, in an
/// order of its own, and the other ranks have left.
enum class Origin : std::uint8_t { World, GroupOfAGroup };

/// Returns a word for the names of tests.
inline std::string to_string(Origin origin) { return origin == Origin::World ? "world" : "group_of_a_group"; }

/// Makes that many ranks in this process, ordered by number.
inline std::vector<Communicator> local(Rank size, Progress progress, Origin origin) {
  if (origin == Origin::World) return local(size, progress);
  std::vector<Communicator> world = local(2 * size + 2, progress);
  std::vector<std::optional<Communicator>> parts(static_cast<std::size_t>(size));
  on_each(world, [&](Communicator& rank) {
    auto odd = rank.split(rank.rank() % 2 == 1 ? 5 : Communicator::no_group, -rank.rank());
    ASSERT_TRUE(odd) << odd.status().to_string();
    if (!*odd) return;
    const bool stays = (*odd)->rank() > 0;
    auto part = (*odd)->split(stays ? 3 : Communicator::no_group, ((*odd)->rank() + 2) % size);
    ASSERT_TRUE(part) << part.status().to_string();
    if (stays) parts[static_cast<std::size_t>((*part)->rank())] = **std::move(part);
  });
  std::vector<Communicator> ranks;
  for (auto& part : parts) ranks.push_back(*std::move(part));
  return ranks;
}

/// Returns which ranks of the job these ranks of a communicator are.
inline std::vector<Rank> in_job(const Communicator& communicator, const std::vector<Rank>& ranks) {
  std::vector<Rank> found;
  for (Rank rank : ranks) found.push_back(communicator.job_ranks()[static_cast<std::size_t>(rank)]);
  return found;
}

/// Tests all requests in turn until all have ended.
inline void finish(std::vector<Request>& requests) {
  const auto until = Clock::now() + std::chrono::seconds(20);
  bool all = false;
  while (!all && Clock::now() < until) {
    all = true;
    for (Request& request : requests) all = request.test() && all;
  }
  EXPECT_TRUE(all);
  for (Request& request : requests) EXPECT_EQ(request.wait().to_string(), "ok");
}

inline void expect_error(const Status& status, Code code, const std::string& part) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.to_string();
}

}  // namespace lacuna::test
