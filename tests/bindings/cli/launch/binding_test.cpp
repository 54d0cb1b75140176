#include "bindings/cli/launch/binding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/support/environment.hpp"

namespace lacuna::cli {
namespace {

namespace fs = std::filesystem;

/// Writes what the system says of a processor.
void write_processor(const fs::path& root, int number, int package, int core) {
  const fs::path folder = root / ("cpu" + std::to_string(number)) / "topology";
  fs::create_directories(folder);
  std::ofstream(folder / "physical_package_id") << package << '\n';
  std::ofstream(folder / "core_id") << core << '\n';
}

TEST(Binding, ProcessorsOfACoreAreTogetherHoweverTheyAreNumbered) {
  const test::Folder root;
  for (int number : {0, 4}) write_processor(root.path(), number, 0, 0);
  for (int number : {1, 5}) write_processor(root.path(), number, 1, 0);
  for (int number : {2, 6}) write_processor(root.path(), number, 0, 1);
  EXPECT_EQ(cores_of({0, 1, 2, 4, 5, 6}, root.path()), (std::vector<Processors>{{0, 4}, {2, 6}, {1, 5}}));
  EXPECT_EQ(cores_of({1, 2, 6}, root.path()), (std::vector<Processors>{{2, 6}, {1}})) << "others are not used";
}

TEST(Binding, AProcessorOfWhichNothingIsKnownIsACore) {
  const test::Folder root;
  EXPECT_EQ(cores_of({3, 7}, root.path()), (std::vector<Processors>{{3}, {7}}));
  EXPECT_EQ(cores_of({}, root.path()), std::vector<Processors>());
}

TEST(Binding, RanksGetWholeCoresWhileThereAreEnough) {
  const std::vector<Processors> cores = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  EXPECT_EQ(shares_of(cores, 1), (std::vector<Processors>{{0, 4, 1, 5, 2, 6, 3, 7}}));
  EXPECT_EQ(shares_of(cores, 2), (std::vector<Processors>{{0, 4, 1, 5}, {2, 6, 3, 7}}));
  EXPECT_EQ(shares_of(cores, 3), (std::vector<Processors>{{0, 4}, {1, 5}, {2, 6, 3, 7}}));
  EXPECT_EQ(shares_of(cores, 4), cores);
  EXPECT_EQ(shares_of({{0, 1}, {2}}, 2), (std::vector<Processors>{{0, 1}, {2}})) << "also if the cores differ";
}

TEST(Binding, RanksShareCoresOnlyIfTheyMust) {
  const std::vector<Processors> cores = {{0, 2}, {1, 3}};
  EXPECT_EQ(shares_of(cores, 3), (std::vector<Processors>{{0}, {2}, {1, 3}}));
  EXPECT_EQ(shares_of(cores, 4), (std::vector<Processors>{{0}, {2}, {1}, {3}}));
  EXPECT_TRUE(shares_of(cores, 5).empty());
  EXPECT_TRUE(shares_of({}, 1).empty());
}

TEST(Binding, OfTheThreadEndsWithTheObject) {
  const Processors all = processors_of_thread();
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  {
    const BoundTo bound({all.back()});
    EXPECT_TRUE(bound.is_bound());
    EXPECT_EQ(processors_of_thread(), Processors{all.back()});
  }
  EXPECT_EQ(processors_of_thread(), all);
}

TEST(Binding, ToProcessorsThatAreNotThereIsRefused) {
  const Processors all = processors_of_thread();
  for (const Processors& none : {Processors{}, Processors{1 << 18}}) {
    EXPECT_FALSE(BoundTo(none).is_bound());
    EXPECT_EQ(processors_of_thread(), all);
  }
}

}  // namespace
}  // namespace lacuna::cli
