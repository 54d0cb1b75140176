#pragma once

#include <filesystem>
#include <optional>

#include "bindings/cli/run/gradient_recorder.hpp"
#include "runtime/values/hosts.hpp"

namespace lacuna::cli {

/// The arguments of `lacuna run`.
struct RunOptions {
  std::filesystem::path config;  ///< read by rank 0 only
  bool fresh = false;            ///< forget what an earlier run of this config has left in its output directory
  bool quiet = false;            ///< show the final table only
  bool predict = false;          ///< also show what each method would take at some link rates
  bool dry = false;              ///< only say what the run would do
  std::optional<Hosts> hosts{};  ///< for a dry run: the ranks of the job, if this process is in none
  RecordOptions record{};        ///< gradients for `lacuna replay`
};

/// Carries out `lacuna run`. It joins the job that the LACUNA_* variables describe. It carries out the config's methods
/// one after the other, from where the newest checkpoint in the output directory left them. Rank 0 prints to standard
/// output; errors go to standard error. Returns the exit status of the process: 128 + N if a signal N has stopped the
/// run.
int run_command(const RunOptions& options);

}  // namespace lacuna::cli
