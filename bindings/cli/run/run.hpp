#pragma once

#include <filesystem>

#include "bindings/cli/run/gradient_recorder.hpp"

namespace lacuna::cli {

/// The arguments of `lacuna run`.
struct RunOptions {
  std::filesystem::path config;  ///< read by rank 0 only
  bool fresh = false;            ///< forget what an earlier run of this config has left in its output directory
  bool quiet = false;            ///< show the final table only
  bool predict = false;          ///< also show what each method would take at some link rates
  RecordOptions record{};        ///< gradients for `lacuna replay`
};

/// `lacuna run`: joins the job that the LACUNA_* variables describe and carries out the config's methods one after the
/// other, from where the newest checkpoint in its output directory left them. Prints to standard output on rank 0 and
/// errors to standard error. Returns the process's exit status.
int run_command(const RunOptions& options);

}  // namespace lacuna::cli
