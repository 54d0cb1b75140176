// Anything may lie under the names that lacuna reads and writes, and anyone may have put it there.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <regex>

#include "bindings/checkpoint/result_file.hpp"
#include "bindings/cli/trace/trace.hpp"
#include "runtime/files/output_folder.hpp"
#include "tests/bindings/checkpoint/checkpoint_fixture.hpp"
#include "tests/processes/executed.hpp"
#include "tests/support/process.hpp"

namespace lacuna::checkpoint {
namespace {

using Path = std::filesystem::path;

/// What may lie where a file should.
const std::map<std::string, std::function<bool(const Path&)>> no_files = {
    {"pipe", [](const Path& path) { return ::mkfifo(path.c_str(), 0600) == 0; }},
    {"device", [](const Path& path) { return ::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 5)) == 0; }},
    {"link to a device", [](const Path& path) { return ::symlink("/dev/zero", path.c_str()) == 0; }},
    {"folder", [](const Path& path) { return std::filesystem::create_directory(path); }}};

/// Returns what a text calls it, where links are refused.
std::string name_of(const std::string& kind) { return kind.starts_with("link") ? "link" : kind; }
/// Returns what a text calls it, where links are followed.
std::string followed(const std::string& kind) { return kind.starts_with("link") ? "device" : kind; }

/// Returns what `body` says in a process of its own, which might wait forever.
std::string said_in_time(const std::function<std::string()>& body) {
  test::Process process([&](const test::Process::Say& say) { say(body()); });
  return process.line(std::chrono::seconds(5));
}

class HostileFiles : public CheckpointTest {
 protected:
  std::string newest() const {
    const Result<SetSearch> search = newest_set(directory_, ranks);
    if (!search) return std::string(search.status().message());
    return fmt_skipped(*search);
  }
  static std::string fmt_skipped(const SetSearch& search) {
    std::string text = search.set ? "step " + std::to_string(search.set->step) : "none";
    for (const std::string& reason : search.passed_over) text += "; " + reason;
    return text;
  }
};

TEST_F(HostileFiles, WhatHasTheNameOfASetsFileAndIsNoneIsToldAtOnceWhenASetIsLookedForOrRemoved) {
  ASSERT_TRUE(write_set(directory_, 1) && write_set(directory_, 2));
  for (const char* name : {"manifest-2.json", "ckpt-2-rank1.h5", "manifest-9.json", "ckpt-9-rank0.h5"}) {
    const Path path = directory_ / name, beside = directory_ / "beside";
    const bool was_there = std::filesystem::exists(path);
    if (was_there) std::filesystem::rename(path, beside);
    for (const auto& [kind, make] : no_files) {
      if (!make(path)) continue;  // not every user may make a device
      const std::string expected = path.string() + ": it is a " + name_of(kind) + ", not a regular file; ";
      EXPECT_TRUE(holds(said_in_time([this] { return newest(); }), expected));
      EXPECT_TRUE(holds(said_in_time([this] { return std::string(remove_sets(directory_).message()); }), expected));
      EXPECT_TRUE(std::filesystem::exists(directory_ / "manifest-1.json")) << "nothing is removed";
      std::filesystem::remove(path);
    }
    if (was_there) std::filesystem::rename(beside, path);
  }
  EXPECT_EQ(newest(), "step 2");
}

TEST_F(HostileFiles, ALinkToAManifestIsToldAndNotTakenForNone) {
  ASSERT_TRUE(write_set(directory_, 1));
  std::filesystem::rename(directory_ / "manifest-1.json", directory_ / "elsewhere");
  std::filesystem::create_symlink(directory_ / "elsewhere", directory_ / "manifest-1.json");
  EXPECT_TRUE(holds(newest(), "manifest-1.json: it is a link, not a regular file; "));
}

TEST_F(HostileFiles, ARankFileThatIsNoFileIsNotReadAndNotWaitedFor) {
  for (const auto& [kind, make] : no_files) {
    const Path path = directory_ / "ckpt-2-rank1.h5";
    if (!make(path)) continue;
    const std::string read = said_in_time([this] {
      return std::string(read_rank_file({directory_, 2, 1, ranks}, {}).status().message());
    });
    EXPECT_EQ(read, path.string() + " cannot be read: it is a " + name_of(kind) + ", not a regular file");
    std::filesystem::remove(path);
  }
}

TEST_F(HostileFiles, AResultFileThatIsNoFileIsAnErrorAtOnce) {
  for (const auto& [kind, make] : no_files) {
    const Path path = directory_ / "run.h5";
    if (!make(path)) continue;
    const std::string read = said_in_time([&] { return std::string(read_results(path).status().message()); });
    EXPECT_EQ(read, path.string() + " cannot be read: it is a " + name_of(kind) + ", not a regular file");
    std::filesystem::remove(path);
  }
}

TEST_F(HostileFiles, ATraceThatIsNoFileIsAnErrorAtOnce) {
  for (const char* kind : {"pipe", "device", "folder"}) {
    const Path path = directory_ / "rank-0.trace.json";
    if (!no_files.at(kind)(path)) continue;
    const std::string merged =
        said_in_time([this] { return std::string(cli::merge_traces(directory_).status().message()); });
    EXPECT_TRUE(holds(merged, "rank-0.trace.json: it is a " + std::string(kind) + ", not a regular file"));
    std::filesystem::remove(path);
  }
}

TEST_F(HostileFiles, AConfigThatIsNoFileIsAnErrorAtOnce) {
  for (const auto& [kind, make] : no_files) {
    const Path path = directory_ / "config.toml";
    if (!make(path)) continue;
    test::Executed run({LACUNA_COMMAND, "run", path.string()}, {});
    EXPECT_EQ(run.wait(std::chrono::seconds(20)), 1) << kind;
    EXPECT_TRUE(holds(run.output(), "the config " + path.string() + " cannot be read: it is a " + followed(kind) +
                                        ", not a regular file"));
    std::filesystem::remove(path);
  }
}

TEST_F(HostileFiles, ADataSetThatIsNoFileIsAnErrorAtOnce) {
  const Path images = directory_ / "train-images-idx3-ubyte.gz", config = directory_ / "config.toml";
  std::ofstream(config) << "[run]\nname = \"few\"\noutput = \"" << (directory_ / "out").string()
                        << "\"\nsteps = 1\n[workload]\nkind = \"fashion_mnist\"\npath = \"" << directory_.string()
                        << "\"\n[[method]]\nalgorithm = \"ring\"\n";
  for (const auto& [kind, make] : no_files) {
    if (!make(images)) continue;
    test::Executed run({LACUNA_COMMAND, "run", config.string()}, {});
    EXPECT_EQ(run.wait(std::chrono::seconds(20)), 1) << kind;
    EXPECT_TRUE(
        holds(run.output(), images.string() + " cannot be read: it is a " + followed(kind) + ", not a regular file"));
    std::filesystem::remove(images);
  }
}

TEST_F(HostileFiles, AResultToCompareThatIsNoFileIsAnErrorAtOnce) {
  for (const auto& [kind, make] : no_files) {
    const Path path = directory_ / "before.json";
    if (kind == "folder" || !make(path)) continue;  // the command line itself refuses a folder
    test::Executed compare({LACUNA_COMMAND, "compare", path.string(), path.string()}, {});
    EXPECT_NE(compare.wait(std::chrono::seconds(20)), 0) << kind;
    EXPECT_TRUE(
        holds(compare.output(), path.string() + " cannot be read: it is a " + followed(kind) + ", not a regular file"));
    std::filesystem::remove(path);
  }
}

TEST_F(HostileFiles, PlantedLinksAreNotFollowed) {
  const Path victim = directory_ / "victim";
  std::ofstream(victim) << "precious";
  for (const char* name : {"ckpt-1-rank0.h5", "manifest-1.json", "x.json"}) {
    std::filesystem::create_symlink(victim, directory_ / name);
    std::filesystem::create_symlink(victim, directory_ / (std::string(name) + ".tmp"));
    std::filesystem::create_symlink(victim, directory_ / (std::string(name) + "." + std::to_string(getpid()) + ".tmp"));
  }
  ASSERT_TRUE(write_set(directory_, 1));
  const auto write = [](std::FILE* file) {
    put(file, "other");
    return Status::ok();
  };
  EXPECT_TRUE(write_whole(directory_ / "x.json", write));
  EXPECT_EQ(folder_.read("victim"), "precious");
  EXPECT_EQ(folder_.read("x.json"), "other");
  EXPECT_FALSE(std::filesystem::is_symlink(directory_ / "ckpt-1-rank0.h5"));
}

/// Returns the permissions of a file that is written under this umask.
std::string modes_under(mode_t mask, const Path& directory, const std::function<Status()>& write) {
  return said_in_time([&] {
    ::umask(mask);
    if (Status written = write(); !written) return std::string(written.message());
    std::map<std::string, unsigned> modes;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      modes[entry.path().filename()] = static_cast<unsigned>(entry.status().permissions());
    }
    std::string text;
    for (const auto& [name, mode] : modes) {
      std::array<char, 16> digits{};
      std::snprintf(digits.data(), digits.size(), " %04o", mode);
      text += (text.empty() ? "" : ", ") + name + digits.data();
    }
    return text;
  });
}

TEST_F(HostileFiles, CheckpointsAreForOwnerAndGroupAtMost) {
  const auto set = [this] { return write_set(directory_, 1); };
  EXPECT_EQ(modes_under(0, directory_, set), "ckpt-1-rank0.h5 0640, ckpt-1-rank1.h5 0640, manifest-1.json 0640");
  EXPECT_EQ(modes_under(077, directory_, set), "ckpt-1-rank0.h5 0600, ckpt-1-rank1.h5 0600, manifest-1.json 0600");
}

TEST_F(HostileFiles, ResultFilesAreForOwnerAndGroupAtMostAndOtherFilesForWhomTheUmaskSays) {
  const auto result = [this] { return write_results(directory_ / "run.h5", {}); };
  EXPECT_EQ(modes_under(0, directory_, result), "run.h5 0640");
  std::filesystem::remove(directory_ / "run.h5");
  const auto other = [this] { return write_whole(directory_ / "x", [](std::FILE*) { return Status::ok(); }); };
  EXPECT_EQ(modes_under(0, directory_, other), "x 0666");
  EXPECT_EQ(modes_under(022, directory_, other), "x 0644");
}

/// Returns what a process has done to files, with a line for each: what, first, second, number.
std::vector<std::vector<std::string>> recorded(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    for (lines.emplace_back(); std::getline(words, line, '\t');) lines.back().push_back(line);
  }
  return lines;
}

class DurableFiles : public HostileFiles {
 protected:
  /// Trains for that many steps, each with a checkpoint, and records what is done to files.
  std::vector<std::vector<std::string>> run(int steps = 2) const {
    const Path config = directory_ / "config.toml", record = directory_ / "record";
    std::ofstream(config) << "[run]\nname = \"few\"\noutput = \"" << (directory_ / "out").string()
                          << "\"\nsteps = " << steps
                          << "\ncheckpoint_every = 1\n[workload]\nkind = \"fashion_mnist\"\nhidden = [2]\n"
                             "[[method]]\nalgorithm = \"ring\"\n";
    test::Executed command({LACUNA_COMMAND, "run", config.string()},
                           {{"LD_PRELOAD", LACUNA_RECORDED_FILES}, {"LACUNA_TEST_RECORD", record.string()}});
    EXPECT_EQ(command.wait(), 0) << command.output();
    return recorded(folder_.read("record"));
  }
};

TEST_F(DurableFiles, EveryFileOfARunIsOnTheDiskBeforeItHasItsNameAndThenTheNameIs) {
  const auto lines = run();
  std::map<std::string, std::string> synced;  // size by name
  std::vector<std::string> named;
  const Path out = directory_ / "out", sets = out / "seed-1" / "ring";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i][0] == "sync") synced[lines[i][1]] = lines[i][3];
    if (lines[i][0] != "rename") continue;
    EXPECT_NE(lines[i][3], "0");
    EXPECT_EQ(synced[lines[i][1]], lines[i][3]) << lines[i][2] << ": all bytes are on the disk before the name is";
    ASSERT_LT(i + 1, lines.size());
    EXPECT_EQ(lines[i + 1][0], "sync") << "of the folder";
    const bool is_of_a_set = Path(lines[i][2]).filename() != "few.h5";
    EXPECT_EQ(lines[i + 1][1], (is_of_a_set ? sets : out).string());
    EXPECT_TRUE(!is_of_a_set || (synced.contains(out) && synced.contains(sets.parent_path())))
        << "the names of its folders";
    named.push_back(Path(lines[i][2]).filename());
  }
  for (const char* name : {"ckpt-1-rank0.h5", "manifest-1.json", "ckpt-2-rank0.h5", "manifest-2.json", "few.h5"}) {
    EXPECT_NE(std::find(named.begin(), named.end(), name), named.end()) << name;
  }
  const auto place = [&](const char* name) { return std::find(named.begin(), named.end(), name); };
  EXPECT_LT(place("ckpt-1-rank0.h5"), place("manifest-1.json")) << "a set is named when its files are";
}

TEST_F(DurableFiles, WhatIsBeingWrittenIsMadeAnewUnderANameThatNobodyForesees) {
  std::set<std::string> digits;
  std::size_t made = 0;
  for (const auto& line : run()) {
    if (line[0] != "make" || line[1].ends_with("lacuna.lock")) continue;
    ++made;
    EXPECT_EQ(line[2], "safely") << line[1];
    std::smatch name;
    ASSERT_TRUE(std::regex_match(line[1], name, std::regex(".*\\.([0-9a-f]{16})\\.tmp"))) << line[1];
    digits.insert(name[1]);
  }
  EXPECT_GE(made, 5u);
  EXPECT_EQ(digits.size(), made);
}

TEST_F(DurableFiles, ASetLosesItsManifestOnTheDiskBeforeItsFiles) {
  std::string last;  // but for files of sets
  int files = 0;
  for (const auto& line : run(5)) {
    const std::string name = Path(line[1]).filename();
    if (name.ends_with(".tmp") || (line[0] != "remove" && line[0] != "sync")) continue;
    if (line[0] == "remove" && name.starts_with("ckpt-")) {
      ++files;
      EXPECT_EQ(last, "sync ring") << name;
    } else {
      last = line[0] + " " + name;
    }
  }
  EXPECT_EQ(files, 4) << "of 5 sets the last is kept";
}

TEST_F(HostileFiles, WhatKilledWritersLeftIsKnownByItsName) {
  EXPECT_EQ(name_when_finished("x.json.0123456789abcdef.tmp"), "x.json");
  for (const char* other : {"x.json", "x.json.tmp", "x.0123456789abcdeg.tmp", "x.0123456789ABCDEF.tmp",
                            ".0123456789abcdef.tmp", "x-0123456789abcdef.tmp", "x.0123456789abcdef.tmp2"}) {
    EXPECT_FALSE(name_when_finished(other)) << other;
  }
  for (const char* name : {"x.json", "x.json.0123456789abcdef.tmp", "y.json.0123456789abcdef.tmp"}) {
    std::ofstream(directory_ / name) << "something";
  }
  EXPECT_TRUE(remove_unfinished(directory_ / "x.json"));
  EXPECT_EQ(names(), (std::vector<std::string>{"x.json", "y.json.0123456789abcdef.tmp"}));
}

}  // namespace
}  // namespace lacuna::checkpoint
