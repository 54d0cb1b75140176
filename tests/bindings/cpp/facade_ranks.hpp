#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

using Clock = std::chrono::steady_clock;

/// The ranks of a job in this process.
inline std::vector<Communicator> local(Rank size, Progress progress) {
  auto ranks = Communicator::local(size, {.progress = progress});
  EXPECT_TRUE(ranks) << ranks.status().to_string();
  EXPECT_EQ(ranks->size(), static_cast<std::size_t>(size));
  return *std::move(ranks);
}

/// Calls body(rank's communicator) on a thread per rank.
inline void on_each(std::vector<Communicator>& ranks, const std::function<void(Communicator&)>& body) {
  std::vector<std::thread> threads;
  for (Communicator& rank : ranks) threads.emplace_back([&] { body(rank); });
  for (std::thread& thread : threads) thread.join();
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
