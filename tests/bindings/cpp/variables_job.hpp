#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/processes/executed.hpp"
#include "tests/support/environment.hpp"

namespace lacuna::test {

using namespace std::chrono_literals;

/// Returns what each rank of a job of processes says about its world: the line of `body`, or why it did not join. Each
/// rank has variables of its own beside rank, size, store and key. The `silent` rank says nothing, and is killed in the
/// end.
inline std::vector<std::string> said_by_job(Rank size, const std::vector<Environment>& by_rank,
                                            const std::function<std::string(Communicator&)>& body,
                                            std::optional<Rank> silent = {}) {
  const ReservedPort port;
  std::vector<Process> ranks;
  for (Rank rank = 0; rank < size; ++rank) {
    Environment environment = {{"LACUNA_RANK", std::to_string(rank)},
                               {"LACUNA_SIZE", std::to_string(size)},
                               {"LACUNA_STORE", port.store()},
                               {"LACUNA_KEY", "the key"}};
    if (!by_rank.empty()) {
      for (const auto& [name, value] : by_rank[static_cast<std::size_t>(rank)]) environment[name] = value;
    }
    ranks.emplace_back([&, environment](const Process::Say& say) {
      for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      const auto aggregators = environment.find("LACUNA_AGGREGATORS");
      if (aggregators != environment.end() && environment.at("LACUNA_RANK") >= environment.at("LACUNA_SIZE")) {
        return say("aggregator: " + aggregate().to_string());
      }
      auto world = Communicator::world();
      say(world ? body(*world) : world.status().to_string());
    });
  }
  std::vector<std::string> said;
  for (Rank rank = 0; rank < size; ++rank) {
    said.push_back(rank == silent ? "" : ranks[static_cast<std::size_t>(rank)].line(60s));
  }
  for (Rank rank = 0; rank < size; ++rank) {
    if (rank != silent) ranks[static_cast<std::size_t>(rank)].wait();
  }
  return said;
}

/// The rows of variables that only a job of processes shows.
namespace variable_rows {

inline void rank_and_size() {
  const auto said = said_by_job(3, {}, [](Communicator& world) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(world.size()));
    const std::int32_t mine = world.rank();
    const Status status = world.call(allgather<std::int32_t>(std::span(&mine, 1), all));
    return fmt::format("{} of {}: {} {}", world.rank(), world.size(), status.to_string(), fmt::join(all, " "));
  });
  EXPECT_EQ(said, (std::vector<std::string>{"0 of 3: ok 0 1 2", "1 of 3: ok 0 1 2", "2 of 3: ok 0 1 2"}));
}

inline void aggregators() {
  const Environment environment = {{"LACUNA_SIZE", "2"}, {"LACUNA_AGGREGATORS", "1"}};
  const auto said = said_by_job(3, {environment, environment, environment}, [](Communicator& world) {
    std::vector<float> data(8, 1);
    const auto method = method_options("blocks:block=4,dedicated=1");
    const Status status = world.call(allreduce<float>(data, data, Reduction::Sum, {.method = *method}));
    return fmt::format("{} of {}: {} {}", world.rank(), world.size(), status.to_string(), data[7]);
  });
  EXPECT_EQ(said, (std::vector<std::string>{"0 of 2: ok 2", "1 of 2: ok 2", "aggregator: ok"}));
}

inline void store() {
  const ReservedPort nobody;
  const Variable soon("LACUNA_BOOTSTRAP_TIMEOUT", "0.2");
  for (const auto& one : said_by_job(2, {{}, {{"LACUNA_STORE", nobody.store()}}}, [](Communicator&) { return ""; })) {
    EXPECT_NE(one.find("timed out"), std::string::npos) << one;
  }
}

/// A rank that is killed needs this. Otherwise it would leave shared memory of UCX behind.
inline const std::pair<const std::string, std::string> without_shared_memory = {"UCX_TLS", "tcp,self"};

inline void key() {
  const auto said = said_by_job(
      2, {{without_shared_memory}, {without_shared_memory, {"LACUNA_KEY", "another"}}},
      [](Communicator&) { return ""; }, 0);
  EXPECT_NE(said[1].find("wrong key"), std::string::npos) << said[1];
}

inline void host() {
  const auto said = said_by_job(3, {{{"LACUNA_HOST", "alpha"}}, {{"LACUNA_HOST", "beta"}}, {{"LACUNA_HOST", "alpha"}}},
                                [](Communicator& world) { return fmt::format("{}", fmt::join(world.hosts(), " ")); });
  EXPECT_EQ(said, std::vector<std::string>(3, "alpha beta alpha"));
}

inline void watch_timeout() {
  const Environment environment = {{"LACUNA_WATCH_TIMEOUT", "1.5"}, without_shared_memory};
  const auto said = said_by_job(
      2, {environment, environment},
      [](Communicator& world) -> std::string {
        if (!world.call(barrier())) return "no barrier";
        if (world.rank() == 1) std::raise(SIGSTOP);
        return world.call(barrier()).to_string();
      },
      1);
  EXPECT_NE(said[0].find("rank 1"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("1500 ms"), std::string::npos) << said[0];
}

/// Says how messages of 1000 bytes travel between two ranks of one host whose buffers lie in mappable memory.
inline std::string way_of_messages(const Environment& environment) {
  const auto said = said_by_job(2, {environment, environment}, [](Communicator& world) {
    std::pmr::vector<std::uint8_t> data(1000, &mappable_memory());
    for (int round = 0; round < 100; ++round) {
      const std::span<std::uint8_t> all(data);
      const Status status =
          world.rank() == 0 ? world.send<std::uint8_t>(all, 1) : world.receive<std::uint8_t>(all, 0).status();
      EXPECT_TRUE(status && world.call(barrier()));
    }
    return std::string(world.job_counters().mapped_messages > 0 ? "mapped" : "copied");
  });
  EXPECT_EQ(said.at(1), "copied") << "it sends nothing so long";
  return said.at(0);
}

/// An allreduce of ranks of one host sends messages of 100,000 bytes from ordinary memory. Says how they travel.
inline std::string way_of_allreduce(Rank ranks, const Environment& environment) {
  const auto said =
      said_by_job(ranks, std::vector(static_cast<std::size_t>(ranks), environment), [](Communicator& world) {
        const auto size = static_cast<std::size_t>(world.size());
        const std::vector<float> data(25'000 * size, 1.5f);
        for (int round = 0; round < 20; ++round) {
          std::vector<float> sum(data.size());
          const Status status = world.call(allreduce(data, sum, Reduction::Sum, {.algorithm = "direct"}));
          EXPECT_TRUE(status && sum == std::vector<float>(data.size(), 1.5f * static_cast<float>(size)));
        }
        return std::string(world.job_counters().mapped_messages > 0 ? "mapped" : "copied");
      });
  for (const std::string& other : said) EXPECT_EQ(other, said.at(0));
  return said.at(0);
}

inline void mapped() {
  EXPECT_EQ(way_of_messages({{"LACUNA_MAPPED", "1000"}}), "mapped");
  EXPECT_EQ(way_of_messages({{"LACUNA_MAPPED", "1001"}}), "copied");
  EXPECT_EQ(way_of_allreduce(3, {{"LACUNA_MAPPED", "100000"}}), "mapped");
  EXPECT_EQ(way_of_allreduce(3, {{"LACUNA_MAPPED", "100001"}}), "copied");
  EXPECT_EQ(way_of_allreduce(3, {{"LACUNA_MAPPABLE", "0"}}), "copied");
  EXPECT_EQ(way_of_allreduce(2, {{"LACUNA_MAPPED", "12500"}}), "mapped");
  EXPECT_EQ(way_of_allreduce(2, {{"LACUNA_MAPPED", "12501"}}), "copied");
}

inline void mappable() {
  EXPECT_EQ(way_of_messages({{"LACUNA_MAPPED", "1"}, {"LACUNA_MAPPABLE", "1M"}}), "mapped");
  EXPECT_EQ(way_of_messages({{"LACUNA_MAPPED", "1"}, {"LACUNA_MAPPABLE", "0"}}), "copied");
}

/// The algorithm of a small allreduce on rank 0, whose LACUNA_BOARD may differ from that of rank 1.
inline void board() {
  for (const auto& [first, second, algorithm] : {std::array{"on", "on", "board"},
                                                 {"off", "off", "recursive_doubling"},
                                                 {"on", "off", "recursive_doubling"},
                                                 {"off", "on", "recursive_doubling"}}) {
    const auto said = said_by_job(2, {{{"LACUNA_BOARD", first}}, {{"LACUNA_BOARD", second}}}, [](Communicator& world) {
      std::vector<float> data(10, 1);
      EXPECT_TRUE(world.call(allreduce<float>(data, data)));
      EXPECT_EQ(data, std::vector<float>(10, 2));
      return std::string(*world.algorithm_name({.collective = Collective::Allreduce, .count = 10}));
    });
    EXPECT_EQ(said, std::vector<std::string>(2, algorithm)) << first << ", " << second;
  }
}

/// Does a call end that its rank only looks at? Neither rank leaves before the other one knows, because a rank that
/// leaves is helped. No rank begins while the other one still makes progress in the first barrier.
inline bool ends_by_itself(Communicator& world, std::chrono::milliseconds within) {
  EXPECT_TRUE(world.call(barrier()));
  std::this_thread::sleep_for(100ms);
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = held;
  auto request = world.start(barrier({.algorithm = "dissemination", .keep_alive = std::move(held)}));
  const auto until = Clock::now() + within;
  while (!watched.expired() && Clock::now() < until) std::this_thread::sleep_for(1ms);
  const bool ended = watched.expired();
  EXPECT_TRUE(request->wait());
  EXPECT_TRUE(world.call(barrier()));
  return ended;
}

inline void progress() {
  for (const std::string mode : {"caller", "thread"}) {
    const Environment environment = {{"LACUNA_PROGRESS", mode}};
    const auto said = said_by_job(2, {environment, environment}, [&](Communicator& world) {
      return std::string(ends_by_itself(world, mode == "thread" ? 10s : 200ms) ? "ended" : "waits");
    });
    EXPECT_EQ(said, std::vector<std::string>(2, mode == "thread" ? "ended" : "waits")) << mode;
  }
}

}  // namespace variable_rows

}  // namespace lacuna::test
