#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/values/method_options.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::cli {

/// A way to reduce the recorded gradients.
struct ReplayChoice {
  std::string label;        ///< in tables and files
  MethodOptions options{};  ///< none: dense
  std::string algorithm{};  ///< empty: ReplayOptions::algorithm
};

/// "dense", or the text of a method, and perhaps "@" and an algorithm; InvalidArgument if it is none.
Result<ReplayChoice> replay_choice(const std::string& text);

/// The arguments of `lacuna replay`.
struct ReplayOptions {
  std::filesystem::path file;  ///< of recorded gradients; each rank reads its own
  std::vector<ReplayChoice> methods;
  std::string algorithm{};       ///< of methods that name none; empty: lacuna chooses
  std::uint64_t seed = 1;        ///< of draws
  std::filesystem::path json{};  ///< empty: beside the file
  std::filesystem::path plot{};  ///< empty: none
};

/// Where the results go: what --json says, or "g-replay.json" beside "g.h5".
std::filesystem::path json_path(const ReplayOptions& options);

/// `lacuna replay`: joins the job that the LACUNA_* variables describe, hands the recorded gradients of each rank, step
/// by step, to an allreduce of each method, and says what each sent, how long it took and how far it was from the exact
/// sum. Prints to standard output on rank 0 and errors to standard error. Returns the process's exit status.
int replay_command(const ReplayOptions& options);

}  // namespace lacuna::cli
