#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bindings/cli/launch/launch.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/output_file.hpp"
#include "tests/support/process.hpp"

// A launcher whose ranks run scripts of the shell.
namespace lacuna::cli {

using namespace std::chrono_literals;
using runtime::Clock;
using test::OutputFile;
using test::Process;

/// Waits until the file holds `part` that many times.
inline bool waits_for(const OutputFile& file, const std::string& part, std::size_t times = 1) {
  const auto deadline = Clock::now() + 60s;
  while (Clock::now() < deadline) {
    const std::string now = file.text();
    std::size_t found = 0;
    for (std::size_t at = now.find(part); at != std::string::npos; at = now.find(part, at + 1)) ++found;
    if (found >= times) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

/// A launcher in a process of its own, in which no signal is ignored, or only the given one.
class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options, int ignored = 0)
      : process_([&, ignored](const Process::Say&) {
          for (int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, number == ignored ? SIG_IGN : SIG_DFL);
          ::dup2(out_.fd(), STDOUT_FILENO);
          ::dup2(err_.fd(), STDERR_FILENO);
          ::_exit(launch(options));
        }) {}

  int wait() { return process_.wait(); }
  void signal(int number) const { process_.signal(number); }
  const OutputFile& out() const { return out_; }
  const OutputFile& err() const { return err_; }
  /// Returns the lines of standard output, sorted, because ranks print in any order.
  std::vector<std::string> lines() const {
    std::istringstream stream(out_.text());
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  }

 private:
  OutputFile out_;
  OutputFile err_;
  Process process_;
};

/// Times that no test reaches.
inline constexpr std::chrono::milliseconds ample = 60s;

/// Returns options for ranks that run a script of the shell.
inline LaunchOptions script(int ranks, const std::string& text) {
  return {.ranks = ranks, .command = {"/bin/sh", "-c", text}, .patience = 200ms, .grace = 300ms, .closing = 300ms};
}

/// Has this process ended? A zombie has, too: in some containers nobody reaps it.
inline bool has_ended(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  if (!std::getline(file, stat)) return true;
  return stat.compare(stat.rfind(')'), 3, ") Z") == 0;
}

inline bool ends_soon(pid_t pid) {
  const auto deadline = Clock::now() + 30s;
  while (!has_ended(pid) && Clock::now() < deadline) std::this_thread::sleep_for(5ms);
  return has_ended(pid);
}

/// A line of a script that tells other ranks, by a file of this name, which process has come to this line.
inline std::string tell(const test::Folder& folder, const std::string& name) {
  const std::string path = folder / name;
  return "echo $$ > " + path + ".new; mv " + path + ".new " + path + "; ";
}

/// Lines of a script that wait until another rank has come to tell() with this name.
inline std::string until_told(const test::Folder& folder, const std::string& name) {
  return "until [ -e " + (folder / name).string() + " ]; do sleep 0.01; done; ";
}
/// Lines of a script that wait until that rank has ended. It is a zombie then, because the launcher reaps no rank
/// before all have ended.
inline std::string until_ended(const test::Folder& folder, const std::string& name) {
  return until_told(folder, name) + "until grep -q ') Z' /proc/$(cat " + (folder / name).string() +
         ")/stat; do sleep 0.01; done; ";
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in '" << text << "'";
}

}  // namespace lacuna::cli
