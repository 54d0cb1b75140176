#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/process.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// Returns what the constructor of the world throws.
std::string thrown(const WorldOptions& options = {}) {
  try {
    const Communicator world(options);
    return "nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), error.status().to_string());
    return error.what();
  }
}

TEST(World, WithoutVariablesIsOneRank) {
  const Communicator world;
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(world.rank(), 0);
}

TEST(World, ARankWithoutASizeIsRefusedByWhatIsMissing) {
  const Variable rank("LACUNA_RANK", "0");
  EXPECT_NE(thrown().find("the rank is 0, but LACUNA_SIZE is not set"), std::string::npos) << thrown();
}

TEST(World, ASizeWithoutARankIsRefusedByWhatIsMissing) {
  const Variable size("LACUNA_SIZE", "2");
  EXPECT_NE(thrown().find("the job's size is 2, but LACUNA_RANK is not set"), std::string::npos) << thrown();
}

TEST(World, RanksThatALauncherAnnouncesDoNotEachWorkAlone) {
  const Variable tasks("OMPI_COMM_WORLD_SIZE", "2"), task("OMPI_COMM_WORLD_RANK", "1");
  EXPECT_NE(thrown().find("OMPI_COMM_WORLD_SIZE=2, OMPI_COMM_WORLD_RANK=1"), std::string::npos) << thrown();
}

TEST(World, AnExplicitSizeOfOneIsObeyedUnderALauncher) {
  const Variable tasks("OMPI_COMM_WORLD_SIZE", "2"), task("OMPI_COMM_WORLD_RANK", "1");
  EXPECT_EQ(thrown({.size = 1}), "nothing");
  const Variable size("LACUNA_SIZE", "1");
  EXPECT_EQ(thrown(), "nothing");
  const Variable rank("LACUNA_RANK", "0");
  EXPECT_EQ(thrown(), "nothing");
}

TEST(World, AProgramsOwnSizeOfOneOverrulesTheJobOfTheEnvironment) {
  const Variable rank("LACUNA_RANK", "1"), size("LACUNA_SIZE", "2"), store("LACUNA_STORE", "127.0.0.1:1");
  EXPECT_EQ(Communicator({.size = 1}).size(), 1);
}

TEST(World, ARankBeyondTheSizeIsRefused) {
  const Variable rank("LACUNA_RANK", "2"), size("LACUNA_SIZE", "2"), store("LACUNA_STORE", "127.0.0.1:1");
  EXPECT_NE(thrown().find("rank 2 of 2"), std::string::npos) << thrown();
}

TEST(World, AStoreWithoutARankIsRefused) {
  const Variable store("LACUNA_STORE", "127.0.0.1:1");
  EXPECT_NE(thrown().find("LACUNA_STORE is 127.0.0.1:1, but LACUNA_RANK and LACUNA_SIZE are not set"),
            std::string::npos)
      << thrown();
}

TEST(World, AJobWithoutAStoreIsRefused) {
  const Variable rank("LACUNA_RANK", "0"), size("LACUNA_SIZE", "2");
  EXPECT_NE(thrown().find("needs LACUNA_STORE"), std::string::npos) << thrown();
}

TEST(World, AValueThatIsNoneIsRefusedByItsVariable) {
  const Variable chunk("LACUNA_CHUNK", "huge");
  EXPECT_NE(thrown().find("LACUNA_CHUNK"), std::string::npos) << thrown();
}

TEST(World, AStoreThatNobodyServesIsGivenUpInTime) {
  const test::ReservedPort port;
  const Variable timeout("LACUNA_BOOTSTRAP_TIMEOUT", "0.5");
  const auto start = Clock::now();
  const std::string text = thrown({.rank = 1, .size = 2, .store = port.store(), .key = "key"});
  EXPECT_NE(text.find(port.store()), std::string::npos) << text;
  EXPECT_LT(Clock::now() - start, 10s);
}

TEST(World, RanksThatStayAwayAreNamedInTime) {
  const test::ReservedPort port;
  const Variable timeout("LACUNA_BOOTSTRAP_TIMEOUT", "0.5");
  const std::string text = thrown({.rank = 0, .size = 3, .store = port.store(), .key = "key"});
  EXPECT_NE(text.find("ranks 1, 2"), std::string::npos) << text;
}

TEST(World, AJobInThisProcessHasAtLeastOneRank) {
  expect_error(Communicator::local(0).status(), Code::InvalidArgument, "0 ranks");
}

/// What ranks of this process use to give bytes of rank 0 to all.
class Board {
 public:
  /// Notes or takes the bytes of rank 0.
  bool share(Rank rank, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    if (rank == 0) {
      bytes_.assign(bytes.begin(), bytes.end());
      written_.notify_all();
      return true;
    }
    written_.wait(lock, [this] { return !bytes_.empty(); });
    if (bytes.size() != bytes_.size()) return false;
    std::copy(bytes_.begin(), bytes_.end(), bytes.begin());
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable written_;
  std::vector<std::byte> bytes_;
};

TEST(World, ByABroadcastRanksMeetWithoutAStore) {
  const Variable store("LACUNA_STORE", "127.0.0.1:1");  // the options count
  Board board;
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&board, rank] {
      const auto broadcast = [&board, rank](std::span<std::byte> bytes) { return board.share(rank, bytes); };
      auto world = Communicator::world({.rank = rank, .size = 3, .broadcast = broadcast});
      ASSERT_TRUE(world) << world.status().to_string();
      std::vector<int> sum = {rank, 1};
      EXPECT_EQ(world->call(allreduce(sum, sum)).to_string(), "ok");
      EXPECT_EQ(sum, (std::vector<int>{3, 3}));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(World, ABroadcastThatFailsOrLacksItsRankIsAnError) {
  const auto fails = [](std::span<std::byte>) { return false; };
  EXPECT_EQ(thrown({.rank = 1, .size = 2, .broadcast = fails}),
            "transport error: the broadcast of the world's options has failed");
  EXPECT_EQ(thrown({.size = 2, .broadcast = fails}),
            "invalid argument: a broadcast needs the rank and the size beside it, and no store");
  EXPECT_EQ(thrown({.rank = 1, .size = 2, .store = "127.0.0.1:1", .broadcast = fails}),
            "invalid argument: a broadcast needs the rank and the size beside it, and no store");
  const Variable aggregators("LACUNA_AGGREGATORS", "2");
  EXPECT_NE(thrown({.rank = 1, .size = 2, .broadcast = fails}).find("aggregators find the ranks at a store only"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna
