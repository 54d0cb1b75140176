// Joining a job from C without a store.
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bindings/c/lacuna.h"

namespace lacuna {
namespace {

/// What ranks of this process use to give bytes of rank 0 to all.
struct Board {
  std::mutex mutex;
  std::condition_variable written;
  std::vector<char> bytes;
};

struct Place {
  Board* board;
  int32_t rank;
};

int32_t share(void* user, void* bytes, std::size_t size) {
  const Place& place = *static_cast<Place*>(user);
  Board& board = *place.board;
  std::unique_lock lock(board.mutex);
  if (place.rank == 0) {
    board.bytes.assign(static_cast<char*>(bytes), static_cast<char*>(bytes) + size);
    board.written.notify_all();
    return 0;
  }
  board.written.wait(lock, [&] { return !board.bytes.empty(); });
  if (board.bytes.size() != size) return 1;
  std::memcpy(bytes, board.bytes.data(), size);
  return 0;
}

TEST(CWorld, ByABroadcastRanksMeetWithoutAStore) {
  Board board;
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&board, rank] {
      Place place{&board, rank};
      lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
      options.rank = rank;
      options.world_size = 2;
      options.broadcast = share;
      options.user = &place;
      lacuna_communicator* world = nullptr;
      ASSERT_EQ(lacuna_join(&options, &world), LACUNA_OK) << lacuna_last_error();
      std::array<float, 2> sum = {1, static_cast<float>(rank)};
      EXPECT_EQ(lacuna_allreduce(world, sum.data(), sum.data(), sum.size(), LACUNA_F32, LACUNA_SUM), LACUNA_OK)
          << lacuna_last_error();
      EXPECT_EQ(sum, (std::array<float, 2>{2, 1}));
      lacuna_communicator_free(world);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CWorld, ABroadcastThatFailsEndsTheJoining) {
  lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
  options.rank = 1;
  options.world_size = 2;
  options.broadcast = [](void*, void*, std::size_t) -> int32_t { return 7; };
  lacuna_communicator* world = nullptr;
  EXPECT_EQ(lacuna_join(&options, &world), LACUNA_TRANSPORT);
  EXPECT_STREQ(lacuna_last_error(), "the broadcast of the world's options has failed");
}

}  // namespace
}  // namespace lacuna
