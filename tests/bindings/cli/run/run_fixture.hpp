#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "bindings/checkpoint/result_file.hpp"
#include "bindings/cli/run/folder_lock.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"
#include "tests/support/checkpoints.hpp"
#include "tests/support/environment.hpp"

namespace lacuna::cli {

inline const std::string dense = "[[method]]\nlabel = \"dense\"\n";
inline const std::string skip = "[[method]]\nname = \"skip\"\nsteps = 1\nmode = \"random\"\nfeedback = true\n";
inline const std::string topk = "[[method]]\nname = \"topk\"\ndensity = 0.05\nmomentum = 0.9\nwarm_up = 8\n";

/// Waits until the folder of a method holds a checkpoint. Returns false if the run ends before.
inline bool waits_for_a_set(test::Executed& run, const std::filesystem::path& sets) {
  while (run.wait(std::chrono::milliseconds(0)) < 0) {
    if (test::holds_a_set(sets)) return true;
  }
  return false;
}

/// Kills a run that is not to have ended, and waits until nobody holds its folder: ranks die a moment after their
/// launcher.
inline void kill_run(test::Executed& run, const std::filesystem::path& output) {
  run.signal(SIGKILL);
  ASSERT_EQ(run.wait(), 128 + SIGKILL) << "it has ended before: " << run.output();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!FolderLock::take(output, "a test")) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << output << " is still in use";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// A run of two ranks.
struct Wanted {
  std::string run = "steps = 12";  ///< lines of [run]
  std::string methods = dense + skip;
  std::string workload{};  ///< lines of [workload]
};

/// Runs configs of two ranks whose output is a folder of this name, and reads what they give.
class RunTest : public testing::Test {
 protected:
  /// Writes the config, and returns its path.
  std::string config(const std::string& name, const Wanted& wanted) const {
    const std::filesystem::path path = folder_ / (name + ".toml");
    std::ofstream(path) << fmt::format(
        "[run]\nname = \"r\"\noutput = \"{}\"\n{}\n[workload]\nkind = \"fashion_mnist\"\nimages = 3000\nhidden = "
        "[6]\n{}\n{}",
        (folder_ / name).string(), wanted.run, wanted.workload, wanted.methods);
    return path;
  }
  /// Returns the arguments of `lacuna` that run it.
  std::vector<std::string> words(const std::string& name, const Wanted& wanted) const {
    return {"launch", "-n", "2", "--raw", "--", LACUNA_COMMAND, "run", config(name, wanted)};
  }
  Outcome run(const std::string& name, const Wanted& wanted, const std::vector<std::string>& options = {}) const {
    std::vector<std::string> words = this->words(name, wanted);
    words.insert(words.end(), options.begin(), options.end());
    return lacuna(words);
  }

  /// Returns all that a result file says, except for times and for how the run came about.
  std::map<std::string, std::vector<double>> results(const std::string& name) const {
    std::map<std::string, std::vector<double>> all;
    const auto file = checkpoint::read_results(folder_ / name / "r.h5");
    EXPECT_TRUE(file) << file.status().to_string();
    if (!file) return all;
    for (const auto& method : file->methods) {
      const std::string place = fmt::format("{} {} ", method.method, method.seed);
      all[place + "step"] = {method.steps.begin(), method.steps.end()};
      for (const auto& column : method.columns) {
        const auto* unit = find_attribute<std::string>(column.about, "unit");
        if (unit && *unit == "seconds") continue;
        all[place + column.name] = column.values;
        all[place + column.name + " by rank"] = column.by_rank;
      }
    }
    for (const auto& row : file->summary) {
      for (const auto& metric : row.metrics) {
        if (metric.name.find("seconds") == std::string::npos) all[row.method + " " + metric.name] = {metric.value};
      }
    }
    return all;
  }

  /// Returns the lines about evaluations, which hold a fingerprint of all parameters' bits.
  static std::vector<std::string> evaluations(const Outcome& outcome) {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(outcome.output)) {
      if (line.find("fingerprint") != std::string::npos) found.push_back(line);
    }
    return found;
  }

  /// Returns the folder of the checkpoints of a method with seed 1.
  std::filesystem::path sets(const std::string& name, const std::string& label) const {
    return folder_ / name / "seed-1" / label;
  }

  const test::Folder folder_;
};

}  // namespace lacuna::cli
