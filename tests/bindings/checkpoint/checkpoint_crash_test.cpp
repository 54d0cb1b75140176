#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "bindings/checkpoint/file_names.hpp"
#include "tests/bindings/checkpoint/checkpoint_fixture.hpp"

namespace lacuna::checkpoint {
namespace {

/// While it lives, files longer than this many bytes cannot be written, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  sighandler_t handler_;
  rlimit before_{};
};

constexpr std::size_t big = 100'000;

class CheckpointCrashTest : public CheckpointTest {
 protected:
  /// Says that it runs and writes sets until it is killed. It ends by itself after ten seconds or an error.
  [[noreturn]] void write_until_killed(std::int64_t step, int running) const {
    alarm(10);
    if (write(running, "1", 1) != 1) _exit(1);
    while (write_set(directory_, step, big) && prune(directory_, step)) ++step;
    _exit(1);
  }

  /// Starts a writer and kills it after this time.
  void kill_a_writer(std::int64_t first_step, std::chrono::microseconds delay) const {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t writer = fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) write_until_killed(first_step, ends[1]);
    close(ends[1]);
    char sign = 0;
    const bool started = read(ends[0], &sign, 1) == 1;
    close(ends[0]);
    std::this_thread::sleep_for(delay);
    kill(writer, SIGKILL);
    int outcome = 0;
    ASSERT_EQ(waitpid(writer, &outcome, 0), writer);
    ASSERT_TRUE(started && WIFSIGNALED(outcome) && WTERMSIG(outcome) == SIGKILL);
  }

  void expect_every_set_readable() const {
    const Result<std::vector<SetFileName>> files = list_set_files(directory_);
    ASSERT_TRUE(files);
    for (const SetFileName& file : *files) {
      if (!file.rank && !file.temporary) expect_content(directory_, file.step, big);
    }
  }
};

TEST_F(CheckpointCrashTest, AfterEverySigkillTheNewestSetVerifiesAndNoNamedFileIsUnreadable) {
  std::mt19937 random(20);
  std::uniform_int_distribution<int> microseconds(0, 25'000);  // a writer begins by writing the newest set again
  ASSERT_TRUE(write_set(directory_, 0, big));
  std::int64_t newest = 0;
  std::size_t left_overs = 0;
  // On a busy machine a writer comes to its next set later.
  for (int trial = 0; trial < 40 || (left_overs == 0 && trial < 400); ++trial) {
    const std::chrono::microseconds delay(microseconds(random) * (1 + trial / 40));
    ASSERT_NO_FATAL_FAILURE(kill_a_writer(newest, delay));
    const Result<SetSearch> search = newest_set(directory_, ranks);
    ASSERT_TRUE(search && search->set) << search.status().to_string();
    EXPECT_EQ(search->passed_over.size(), 0U);
    EXPECT_GE(search->set->step, newest);
    newest = search->set->step;
    expect_every_set_readable();
    left_overs += names().size() % 3 != 0 ? 1U : 0U;
  }
  EXPECT_GT(left_overs, 0U) << "no writer was killed inside a set";
}

TEST_F(CheckpointCrashTest, AFullDiskIsAnErrorThatSaysSoAndThePreviousSetStands) {
  ASSERT_TRUE(write_set(directory_, 1, big));
  const std::vector<std::string> before = names();
  for (const rlim_t bytes : {0, 10, 4096, 400'000}) {
    const Status full = [&] {
      const FullDisk disk(bytes);
      return write_set(directory_, 2, big);
    }();
    EXPECT_EQ(full.code(), Code::Io);
    EXPECT_TRUE(holds(full.message(), "ckpt-2-rank0.h5 could not be written: File too large"));
    EXPECT_EQ(names(), before);
  }
  EXPECT_EQ(newest_set(directory_, ranks)->set->step, 1);
  expect_content(directory_, 1, big);
  ASSERT_TRUE(write_set(directory_, 2, big));
  EXPECT_EQ(newest_set(directory_, ranks)->set->step, 2);
}

TEST_F(CheckpointCrashTest, APlaceThatCannotBeWrittenIsAnErrorThatNamesIt) {
  std::ofstream(directory_ / "file") << "not a directory";
  const Status below_file = write_set(directory_ / "file" / "sets", 1);
  EXPECT_EQ(below_file.code(), Code::Io);
  EXPECT_TRUE(holds(below_file.message(), (directory_ / "file").string()));
  EXPECT_FALSE(newest_set(directory_ / "file", ranks));

  std::filesystem::create_directory(directory_ / "ckpt-1-rank0.h5");
  const Status occupied = write_set(directory_, 1);
  EXPECT_TRUE(holds(occupied.message(), "ckpt-1-rank0.h5 could not be written: it is a folder, not a regular file"));
}

TEST_F(CheckpointCrashTest, AFileThatIsNotHdf5IsAnErrorAndPrintsNothing) {
  testing::internal::CaptureStderr();
  std::ofstream(directory_ / "ckpt-1-rank0.h5") << "not HDF5";
  const Result<Attributes> read = read_rank_file({directory_, 1, 0, 1}, {});
  EXPECT_EQ(read.status().code(), Code::Io);
  EXPECT_TRUE(holds(read.status().message(), "ckpt-1-rank0.h5: cannot open the file: "));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace lacuna::checkpoint
