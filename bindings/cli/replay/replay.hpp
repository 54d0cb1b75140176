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
  std::string label;        ///< its name in tables and files
  MethodOptions options{};  ///< none: dense
  std::string algorithm{};  ///< empty: ReplayOptions::algorithm
};

/// Reads "dense", or the text of a method, and perhaps "@" and an algorithm. Anything else is InvalidArgument.
Result<ReplayChoice> replay_choice(const std::string& text);

/// The arguments of `lacuna replay`.
struct ReplayOptions {
  std::filesystem::path file;  ///< the recorded gradients; each rank reads its own
  std::vector<ReplayChoice> methods;
  std::string algorithm{};       ///< for methods that name none; empty: lacuna chooses
  std::uint64_t seed = 1;        ///< seed of the draws
  std::filesystem::path json{};  ///< file of results; empty: it lies beside the recording
  std::filesystem::path plot{};  ///< file of the picture; empty: none is drawn
};

/// Returns where the results go: what --json says, or "g-replay.json" beside "g.h5".
std::filesystem::path json_path(const ReplayOptions& options);

/// Carries out `lacuna replay`. It joins the job that the LACUNA_* variables describe. It hands the recorded gradients
/// of each rank, step by step, to an allreduce of each method. It says what each method sent, how long it took, and how
/// far it was from the exact sum. Rank 0 prints to standard output; errors go to standard error. Returns the process's
/// exit status.
int replay_command(const ReplayOptions& options);

}  // namespace lacuna::cli
