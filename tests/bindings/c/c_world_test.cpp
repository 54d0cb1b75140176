// Joining a job from C without a store.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bindings/c/lacuna.h"
#include "tests/bindings/shared_pipe.hpp"
#include "tests/support/process.hpp"

namespace lacuna {
namespace {

struct Place {
  const test::SharedPipe* pipe;
  const test::SharedPipe* answers;  // from rank 1 to rank 0, for an allgather
  int32_t rank;
};

int32_t broadcast(void* user, void* bytes, std::size_t size) {
  const Place& place = *static_cast<Place*>(user);
  return place.pipe->broadcast(place.rank, {static_cast<std::byte*>(bytes), size}) ? 0 : 1;
}

/// Joins with these options, and returns the sum of 1 over all ranks and of the rank's number, or the error.
std::string sum_of(const lacuna_world_options& options) {
  lacuna_communicator* world = nullptr;
  if (lacuna_join(&options, &world) != LACUNA_OK) return lacuna_last_error();
  float sum[2] = {1, static_cast<float>(lacuna_rank(world))};
  const auto done = lacuna_allreduce(world, sum, sum, 2, LACUNA_F32, LACUNA_SUM);
  const std::string text = std::to_string(sum[0]).substr(0, 3) + " " + std::to_string(sum[1]).substr(0, 3);
  lacuna_communicator_free(world);
  return done == LACUNA_OK ? text : lacuna_last_error();
}

/// Runs each rank in a process of its own, with the options that `given` sets. Returns what each says.
template <class Given>
std::vector<std::string> outcomes_of(int32_t size, const Given& given) {
  std::vector<test::Process> ranks;
  for (int32_t rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank](const test::Process::Say& say) {
      lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
      options.rank = rank;
      options.world_size = size;
      given(rank, options);
      say(sum_of(options));
    });
  }
  std::vector<std::string> outcomes;
  for (test::Process& rank : ranks) outcomes.push_back(rank.line());
  return outcomes;
}

TEST(CWorld, ByABroadcastRanksMeetWithoutAStore) {
  const test::SharedPipe pipe(3);
  std::vector<Place> places = {{&pipe, nullptr, 0}, {&pipe, nullptr, 1}, {&pipe, nullptr, 2}};
  const auto outcomes = outcomes_of(3, [&](int32_t rank, lacuna_world_options& options) {
    options.broadcast = broadcast;
    options.user = &places[static_cast<std::size_t>(rank)];
  });
  EXPECT_EQ(outcomes, std::vector<std::string>(3, "3.0 3.0"));
}

int32_t start_gather(void* source, void* destination, std::size_t size, void* info, void** request) {
  const Place& place = *static_cast<Place*>(info);
  const std::span all(static_cast<std::byte*>(destination), 2 * size);
  const auto own = all.subspan(place.rank == 0 ? 0 : size, size), other = all.subspan(place.rank == 0 ? size : 0, size);
  std::memcpy(own.data(), source, size);
  const test::SharedPipe &to = place.rank == 0 ? *place.pipe : *place.answers,
                         &from = place.rank == 0 ? *place.answers : *place.pipe;
  *request = new int(3);  // tests until it is done
  return to.broadcast(0, own) && from.broadcast(1, other) ? 1 : -1;
}

int32_t test_gather(void* request) { return --*static_cast<int*>(request) > 0 ? 1 : 0; }

int32_t free_gather(void* request) {
  delete static_cast<int*>(request);
  return 0;
}

TEST(CWorld, ByAnAllgatherInTheShapeOfUccRanksMeet) {
  const test::SharedPipe pipe(2), answers(2);
  std::vector<Place> places = {{&pipe, &answers, 0}, {&pipe, &answers, 1}};
  std::vector<lacuna_oob> oobs;
  for (Place& place : places) {
    oobs.push_back({start_gather, test_gather, free_gather, &place, 2, static_cast<uint32_t>(place.rank)});
  }
  const auto outcomes = outcomes_of(2, [&](int32_t rank, lacuna_world_options& options) {
    options.rank = options.world_size = -1;
    options.oob = &oobs[static_cast<std::size_t>(rank)];
  });
  EXPECT_EQ(outcomes, std::vector<std::string>(2, "2.0 1.0"));
}

TEST(CWorld, ByAUniqueIdRanksMeet) {
  const test::SharedPipe pipe(2);
  lacuna_unique_id id{};
  const auto outcomes = outcomes_of(2, [&](int32_t rank, lacuna_world_options& options) {
    if (rank == 0) {
      ASSERT_EQ(lacuna_make_unique_id(nullptr, &id), LACUNA_OK) << lacuna_last_error();
    }
    ASSERT_TRUE(pipe.broadcast(rank, std::as_writable_bytes(std::span(id.bytes))));
    options.id = &id;
  });
  EXPECT_EQ(outcomes, std::vector<std::string>(2, "2.0 1.0"));
}

TEST(CWorld, ARankWithWrongOptionsKeepsNobodyWaiting) {
  const test::SharedPipe pipe(2);
  std::vector<Place> places = {{&pipe, nullptr, 0}, {&pipe, nullptr, 1}};
  const auto outcomes = outcomes_of(2, [&](int32_t rank, lacuna_world_options& options) {
    options.broadcast = broadcast;
    options.user = &places[static_cast<std::size_t>(rank)];
    if (rank == 0) options.progress = 9;
  });
  EXPECT_EQ(outcomes[0], "progress is 9, must be 0 .. 1");
  EXPECT_EQ(outcomes[1], "rank 0 can't join; its own error says why");
}

TEST(CWorld, ARankWithoutAPlaceForItsCommunicatorKeepsNobodyWaiting) {
  int calls = 0;
  lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
  options.rank = 1;
  options.world_size = 2;
  options.broadcast = [](void* user, void*, std::size_t) -> int32_t { return ++*static_cast<int*>(user), 0; };
  options.user = &calls;
  EXPECT_EQ(lacuna_join(&options, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_EQ(calls, 1);
}

TEST(CWorld, WhatAnAllgatherTellsMustFit) {
  const auto refusal = [](lacuna_oob oob, int32_t rank) {
    lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
    oob.coll_info = nullptr;
    options.oob = &oob;
    options.rank = rank;
    lacuna_communicator* world = nullptr;
    EXPECT_EQ(lacuna_join(&options, &world), LACUNA_INVALID_ARGUMENT);
    return std::string(lacuna_last_error());
  };
  const auto fails = [](void*, void*, std::size_t, void*, void**) -> int32_t { return -1; };
  EXPECT_EQ(refusal({fails, test_gather, nullptr, nullptr, 2, 0}, -1), "a function of oob is null");
  EXPECT_EQ(refusal({fails, test_gather, free_gather, nullptr, 0, 0}, -1),
            "oob_ep is 0 and n_oob_eps is 0, must be 0 .. n_oob_eps - 1 and 1 .. 2147483647");
  EXPECT_EQ(refusal({fails, test_gather, free_gather, nullptr, 2, 2}, -1),
            "oob_ep is 2 and n_oob_eps is 2, must be 0 .. n_oob_eps - 1 and 1 .. 2147483647");
  EXPECT_EQ(refusal({fails, test_gather, free_gather, nullptr, 2, 0}, 1),
            "rank and world_size are 1 and -1, must be those of oob, 0 and 2, or -1");
}

TEST(CWorld, AnIdOfZerosIsRefused) {
  const lacuna_unique_id none{};
  lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
  options.id = &none;
  lacuna_communicator* world = nullptr;
  EXPECT_EQ(lacuna_join(&options, &world), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "the id has only zeros: rank 0 could not make it");
}

TEST(CWorld, TheTimeoutOfTheOptionsEndsTheWaitForTheOthers) {
  const test::ReservedPort port;
  const std::string store = port.store();
  const auto begin = std::chrono::steady_clock::now();
  const auto outcomes = outcomes_of(2, [&](int32_t rank, lacuna_world_options& options) {
    options.rank = 0;  // each waits for rank 1 at a store of its own
    options.store = rank == 0 ? store.c_str() : "127.0.0.1:1";
    options.key = "key";
    options.timeout = rank == 0 ? 0.2 : -1;
  });
  EXPECT_NE(outcomes[0].find("rank 1"), std::string::npos) << outcomes[0];
  EXPECT_EQ(outcomes[1], "timeout is -1 seconds, must be 0 or more");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(CWorld, ABroadcastThatFailsEndsTheJoining) {
  const auto outcomes = outcomes_of(2, [](int32_t, lacuna_world_options& options) {
    options.broadcast = [](void*, void*, std::size_t) -> int32_t { return 7; };
  });
  EXPECT_EQ(outcomes, std::vector<std::string>(2, "the broadcast of the world's options has failed"));
}

TEST(CWorld, ABroadcastAndAnAllgatherAreOneTooMany) {
  const lacuna_oob oob = {start_gather, test_gather, free_gather, nullptr, 2, 1};
  lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
  options.broadcast = [](void*, void*, std::size_t) -> int32_t { return 0; };
  options.oob = &oob;
  lacuna_communicator* world = nullptr;
  EXPECT_EQ(lacuna_join(&options, &world), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "broadcast and oob are given; one of them is enough");
}

}  // namespace
}  // namespace lacuna
