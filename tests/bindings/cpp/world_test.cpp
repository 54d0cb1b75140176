#include <gtest/gtest.h>

#include <cstdlib>

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

}  // namespace
}  // namespace lacuna
