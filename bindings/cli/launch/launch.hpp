#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runtime/values/progress.hpp"

namespace lacuna::cli {

struct LaunchOptions {
  int ranks = 1;
  std::vector<std::string> command;  ///< the program, found by PATH, and its arguments
  int aggregators = 0;
  std::vector<std::string> aggregator{};  ///< the program of the aggregators (`lacuna aggregate`), and its arguments
  std::optional<Progress> progress{};     ///< sets LACUNA_PROGRESS for all
  bool bind = false;                      ///< gives each rank processors of its own
  bool prefix = true;  ///< puts "[rank] " before every line; without it ranks write to the launcher's output directly
  std::chrono::milliseconds patience{2000};  ///< how long the others may take to end after the first failure
  std::chrono::milliseconds grace{5000};     ///< how long a rank may take to end after SIGTERM, before SIGKILL
  std::chrono::milliseconds closing{30000};  ///< the same after a signal that is passed on: it may write a checkpoint
};

/// Runs a program once for each rank on this host and waits for all of them. Each gets LACUNA_RANK, LACUNA_SIZE,
/// LACUNA_STORE (a free port of 127.0.0.1) and LACUNA_KEY (random), and a process group of its own. Rank 0 has this
/// process's standard input, and the others have an empty one.
///
/// Beside the ranks it runs the program of the aggregators as often as is asked for. Aggregators get LACUNA_RANK behind
/// those of the ranks, and everybody gets LACUNA_AGGREGATORS. They are to end by themselves after the ranks, with any
/// exit code. If they do not within `patience`, they are ended. An aggregator that fails before, or that a signal of
/// somebody else kills at any time, is named like a rank, but only a signal makes it the first one if a rank fails too.
///
/// The first rank that fails is named on standard error. If a signal other than SIGABRT killed a rank, it is that rank.
/// Otherwise it is the rank that ended first, once the others have ended too or `patience` is over. Then the others are
/// ended. SIGINT, SIGTERM and SIGHUP are passed on to all ranks, unless they are ignored here, as by nohup. The ranks
/// have `closing` to end. A second signal ends them with SIGKILL. SIGUSR1 and SIGUSR2 are passed on too, and nothing
/// else is done. If this process dies, its ranks are killed.
///
/// With `bind`, the processors that this process may use are shared out to the ranks (shares_of). There must be one for
/// each rank. Aggregators may run on all of them.
///
/// Ranks that are killed while they start leave nothing in /dev/shm. UCX makes its segments in a folder there that
/// belongs to the job (UCX_POSIX_DIR, unless that is set) and is removed at the end.
///
/// If LACUNA_TRACE is set, the traces that the ranks leave are merged at the end.
///
/// Returns 0, or how the first failing rank ended: its exit code, or 128 + its signal. Returns 1 if the ranks have
/// ended well and output of theirs could not be written, 2 for invalid options, and 126 or 127 if the program can't be
/// executed. What the launcher itself has to say is left out where it can't be written. Call it from a thread that
/// lives until it returns.
int launch(const LaunchOptions& options);

}  // namespace lacuna::cli
