#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace lacuna::cli {

struct LaunchOptions {
  int ranks = 1;
  std::vector<std::string> command;  ///< the program, found by PATH, and its arguments
  bool prefix = true;                ///< "[rank] " before every line; without it ranks write to our own output directly
  std::chrono::milliseconds patience{2000};  ///< after the first failure, for the others to end by themselves
  std::chrono::milliseconds grace{5000};     ///< between SIGTERM and SIGKILL
};

/// Runs a program once per rank on this host and waits for all. Each gets LACUNA_RANK, LACUNA_SIZE, LACUNA_STORE (a
/// free port of 127.0.0.1) and LACUNA_KEY (random), an empty standard input and a process group of its own.
///
/// The first rank that fails is named on standard error: one that a signal killed (other than SIGABRT), else the first
/// that ended, once the others have ended too or `patience` is over. The others are then ended. SIGINT, SIGTERM and
/// SIGHUP are passed on to all ranks, unless they are ignored here, as by nohup; a second one ends them with SIGKILL.
/// If this process dies, its ranks are killed.
///
/// Ranks that are killed while they start leave nothing in /dev/shm: UCX makes its segments in a folder there that is
/// the job's own (UCX_POSIX_DIR, unless that is set) and is removed at the end.
///
/// Where LACUNA_TRACE is set, the traces that the ranks leave are merged at the end.
///
/// Returns 0, or how the first failing rank ended: its exit code, or 128 + its signal; 2 for invalid options, 126 or
/// 127 if the program can't be executed. Call it from a thread that lives until it returns.
int launch(const LaunchOptions& options);

}  // namespace lacuna::cli
