#include "bindings/cli/launch/segment_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <optional>

#include "tests/support/environment.hpp"
#include "tests/support/process.hpp"

namespace lacuna::cli {
namespace {

namespace fs = std::filesystem;

void leave_a_segment(const fs::path& folder) { std::ofstream(folder / "ucx_shm_posix_1234") << "segment"; }

TEST(SegmentFolder, IsForItsUserAloneAndGoesWithWhatIsInIt) {
  const test::Folder where;
  fs::path path;
  {
    const SegmentFolder folder(where.path());
    path = folder.path();
    ASSERT_FALSE(path.empty());
    EXPECT_EQ(path.parent_path(), where.path());
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    leave_a_segment(path);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(SegmentFolder, OfALauncherThatWasKilledGoesWhenTheNextIsMade) {
  const test::Folder where;
  test::Process launcher([&](const test::Process::Say& say) {
    const SegmentFolder folder(where.path());
    leave_a_segment(folder.path());
    say(folder.path().string());
    ::raise(SIGKILL);
  });
  const fs::path left = launcher.line(std::chrono::seconds(20));
  launcher.wait();
  ASSERT_TRUE(fs::exists(left / "ucx_shm_posix_1234"));
  const SegmentFolder next(where.path());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(next.path()));
}

TEST(SegmentFolder, OfALauncherThatLivesStaysAndSoDoesAllElse) {
  const test::Folder where;
  const SegmentFolder other(where.path());
  leave_a_segment(other.path());
  leave_a_segment(where.path());
  fs::create_directory(fs::path(where.path()) / "lacuna");
  fs::create_directory_symlink(where.path(), fs::path(where.path()) / "lacuna-segments-link");
  { const SegmentFolder mine(where.path()); }
  EXPECT_TRUE(fs::exists(other.path() / "ucx_shm_posix_1234"));
  EXPECT_TRUE(fs::exists(fs::path(where.path()) / "ucx_shm_posix_1234"));
  EXPECT_TRUE(fs::exists(fs::path(where.path()) / "lacuna"));
  EXPECT_TRUE(fs::is_symlink(fs::path(where.path()) / "lacuna-segments-link"));
}

TEST(SegmentFolder, IsNoneWhereNothingCanBeMade) { EXPECT_TRUE(SegmentFolder("/proc/none").path().empty()); }

}  // namespace
}  // namespace lacuna::cli
