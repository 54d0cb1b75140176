#include "runtime/values/processors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/support/environment.hpp"

namespace lacuna {
namespace {

/// A folder in which control groups are mounted.
class Processors : public testing::Test {
 protected:
  void set(const std::string& file, const std::string& text) {
    const std::filesystem::path path = root() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  std::filesystem::path root() const { return folder_.path(); }

 private:
  test::Folder folder_;
};

TEST_F(Processors, AreAsManyAsTheQuotaOfAGroupPaysForRoundedUp) {
  set("job/cpu.max", "200000 100000");
  EXPECT_EQ(quota_of_groups("0::/job\n", root()), 2);
  set("job/cpu.max", "150000 100000");
  EXPECT_EQ(quota_of_groups("0::/job\n", root()), 2);
  set("job/cpu.max", "1000 100000");
  EXPECT_EQ(quota_of_groups("0::/job\n", root()), 1);
  set("job/cpu.max", "9223372036854775807 100000");
  EXPECT_EQ(quota_of_groups("0::/job\n", root()), 1 << 20);
  set("job/cpu.max", "max 100000");
  EXPECT_EQ(quota_of_groups("0::/job\n", root()), std::nullopt);
}

TEST_F(Processors, HaveTheLeastQuotaOfAllGroupsInWhichAProcessLies) {
  set("job/cpu.max", "300000 100000");
  set("job/step/cpu.max", "max 100000");
  set("job/step/task/cpu.max", "400000 100000");
  EXPECT_EQ(quota_of_groups("0::/job/step/task\n", root()), 3);
  EXPECT_EQ(quota_of_groups("0::/job/step\n", root()), 3);
  EXPECT_EQ(quota_of_groups("0::/other\n", root()), std::nullopt);
}

TEST_F(Processors, OfAContainerHaveTheQuotaThatIsMountedAtTheTop) {
  set("cpu.max", "250000 100000");
  EXPECT_EQ(quota_of_groups("0::/\n", root()), 3);
  EXPECT_EQ(quota_of_groups("0::/system.slice/of-the-host.scope\n", root()), 3);
}

TEST_F(Processors, HaveQuotasOfTheFirstVersionOfControlGroupsToo) {
  set("cpu,cpuacct/job/cpu.cfs_quota_us", "600000");
  set("cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  set("cpu,cpuacct/cpu.cfs_quota_us", "-1");
  set("cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(quota_of_groups("3:cpuset:/job\n2:cpu,cpuacct:/job\n0::/\n", root()), 6);
  EXPECT_EQ(quota_of_groups("3:cpuset:/job\n2:cpu,cpuacct:/\n", root()), std::nullopt);
}

TEST_F(Processors, HaveNoQuotaWhereNothingOrNonsenseIsRead) {
  set("job/cpu.max", "many 100000");
  set("cpu.max", "100000 0");
  for (const char* text : {"", "\n", "nonsense", "0:", "0::/job", "0::/../..", "2:cpu:"}) {
    EXPECT_EQ(quota_of_groups(text, root()), std::nullopt) << text;
  }
}

TEST_F(Processors, OfThisProcessAreOneAtLeastAndNoMoreThanThereAre) {
  EXPECT_GE(usable_processors(), 1);
  EXPECT_LE(usable_processors(), static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u)));
}

}  // namespace
}  // namespace lacuna
