#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/bindings/shared_pipe.hpp"
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

/// What a process says that joins with these options.
std::string said_by_process(const std::function<std::string()>& body) {
  Process process([&](const Process::Say& say) { say(body()); });
  return process.line();
}

/// Runs each rank in a process of its own, with the options that `given` sets. Returns the sums, or the errors.
std::vector<std::string> outcomes_of(Rank size, const std::function<void(Rank, WorldOptions&)>& given) {
  std::vector<Process> ranks;
  for (Rank rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank](const Process::Say& say) {
      WorldOptions options{.rank = rank, .size = size};
      given(rank, options);
      auto world = Communicator::world(options);
      if (!world) return say(world.status().to_string());
      std::vector<int> sum = {rank, 1};
      const Status done = world->call(allreduce(sum, sum));
      say(done ? std::to_string(sum[0]) + " " + std::to_string(sum[1]) : done.to_string());
    });
  }
  std::vector<std::string> outcomes;
  for (Process& rank : ranks) outcomes.push_back(rank.line());
  return outcomes;
}

TEST(World, ByABroadcastRanksMeetWithoutAStore) {
  const Variable store("LACUNA_STORE", "127.0.0.1:1");  // the options count
  const SharedPipe pipe(3);
  const auto outcomes = outcomes_of(3, [&](Rank rank, WorldOptions& options) {
    options.broadcast = [&pipe, rank](std::span<std::byte> bytes) { return pipe.broadcast(rank, bytes); };
  });
  EXPECT_EQ(outcomes, std::vector<std::string>(3, "3 3"));
}

TEST(World, BesideABroadcastAStoreWithThePort0SaysWhereRank0Listens) {
  const SharedPipe pipe(2);
  const auto outcomes = outcomes_of(2, [&](Rank rank, WorldOptions& options) {
    options.store = "127.0.0.1:0";
    options.broadcast = [&pipe, rank](std::span<std::byte> bytes) { return pipe.broadcast(rank, bytes); };
  });
  EXPECT_EQ(outcomes, std::vector<std::string>(2, "1 2"));
}

TEST(World, ByAUniqueIdRanksMeet) {
  const SharedPipe pipe(2);
  const auto outcomes = outcomes_of(2, [&](Rank rank, WorldOptions& options) {
    if (rank == 0) options.id = *make_unique_id();
    if (!options.id) options.id = UniqueId();
    ASSERT_TRUE(pipe.broadcast(rank, options.id->bytes));
  });
  EXPECT_EQ(outcomes, std::vector<std::string>(2, "1 2"));
}

TEST(World, RanksAreNumberedOnTheirHosts) {
  const char* const hosts[] = {"a", "b", "a", "a"};
  const SharedPipe pipe(4);
  std::vector<Process> ranks;
  for (Rank rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&, rank](const Process::Say& say) {
      const Variable host("LACUNA_HOST", hosts[rank]);
      WorldOptions options{.rank = rank, .size = 4};
      options.broadcast = [&pipe, rank](std::span<std::byte> bytes) { return pipe.broadcast(rank, bytes); };
      Communicator world(options);
      auto part = world.split(rank < 3 ? 0 : 1, -rank);  // the first three, in reverse order
      say(std::to_string(world.local_rank()) + " of " + std::to_string(world.local_size()) + ", " +
          std::to_string((**part).local_rank()) + " of " + std::to_string((**part).local_size()));
    });
  }
  EXPECT_EQ(ranks[0].line(), "0 of 3, 1 of 2");
  EXPECT_EQ(ranks[1].line(), "0 of 1, 0 of 1");
  EXPECT_EQ(ranks[2].line(), "1 of 3, 0 of 2");
  EXPECT_EQ(ranks[3].line(), "2 of 3, 0 of 1");
}

TEST(World, ARankThatCannotJoinKeepsNobodyWaiting) {
  const std::pair<const char*, const char*> wrong[] = {{"LACUNA_KERNELS", "abacus"},
                                                       {"LACUNA_TRACE", "/dev/null/traces"},
                                                       {"LACUNA_WINDOW", "none"},
                                                       {"LACUNA_ALGORITHMS", "allreduce=magic"}};
  for (const auto& [name, value] : wrong) {
    const SharedPipe pipe(2);
    std::vector<std::unique_ptr<Variable>> kept;
    const auto outcomes = outcomes_of(2, [&](Rank rank, WorldOptions& options) {
      if (rank == 0) kept.push_back(std::make_unique<Variable>(name, value));
      options.broadcast = [&pipe, rank](std::span<std::byte> bytes) { return pipe.broadcast(rank, bytes); };
    });
    EXPECT_NE(outcomes[0].find(name), std::string::npos) << outcomes[0];
    EXPECT_EQ(outcomes[1], "peer failed: rank 0 can't join; its own error says why") << name;
  }
}

TEST(World, ABroadcastThatFailsOrLacksItsRankIsAnError) {
  const auto fails = [](std::span<std::byte>) { return false; };
  EXPECT_EQ(said_by_process([&] { return thrown({.rank = 1, .size = 2, .broadcast = fails}); }),
            "transport error: the broadcast of the world's options has failed");
  const auto throws = [](std::span<std::byte>) -> bool { throw std::runtime_error("no wire"); };
  EXPECT_EQ(said_by_process([&] { return thrown({.rank = 1, .size = 2, .broadcast = throws}); }),
            "transport error: the broadcast of the world's options has failed: no wire");
  EXPECT_EQ(thrown({.size = 2, .broadcast = fails}),
            "invalid argument: a broadcast needs the rank and the size beside it");
  EXPECT_EQ(thrown({.rank = 1, .size = 2, .store = "127.0.0.1:1", .broadcast = fails}),
            "invalid argument: the store is 127.0.0.1:1 beside a broadcast, which takes the place of a store; with the "
            "port 0 it says at which address rank 0 listens");
  const Variable aggregators("LACUNA_AGGREGATORS", "2");
  EXPECT_NE(thrown({.rank = 1, .size = 2, .broadcast = fails}).find("aggregators find the ranks at a store only"),
            std::string::npos);
}

TEST(World, AnIdThatIsNotOfThisVersionOrLacksItsRankIsAnError) {
  UniqueId id;
  id.bytes.fill(std::byte{1});
  EXPECT_EQ(said_by_process([&] { return thrown({.rank = 1, .size = 2, .id = id}); }),
            "mismatch: what rank 0 has shared is no unique id of this version of lacuna");
  EXPECT_EQ(thrown({.size = 2, .id = id}), "invalid argument: an id needs the rank and the size beside it");
  EXPECT_EQ(thrown({.rank = 1, .size = 2, .store = "a:1", .id = id}),
            "invalid argument: the store is a:1 beside an id, which takes the place of a store");
  EXPECT_EQ(thrown({.rank = 1, .size = 2, .id = UniqueId()}),
            "invalid argument: the id has only zeros: rank 0 could not make it");
  EXPECT_NE(make_unique_id("192.0.2.1").status().to_string().find("rank 0 cannot listen at 192.0.2.1:0"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna
