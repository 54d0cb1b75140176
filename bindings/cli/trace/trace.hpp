#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::cli {

/// What became of the traces of a job's ranks.
struct MergedTrace {
  std::filesystem::path path{};
  std::vector<Rank> ranks{};            ///< that are in it
  std::vector<Rank> missing{};          ///< that left no trace
  std::vector<std::string> left_out{};  ///< files of other jobs
  std::uint64_t events = 0;
  std::uint64_t dropped = 0;  ///< by the ranks, for lack of room

  std::string to_string() const;
};

/// Merges the traces that the ranks of a job left in `folder` (LACUNA_TRACE) into one file, `folder`/trace.json unless
/// `output` says otherwise. Where several jobs left some, the last one counts. Nothing is changed on an error.
Result<MergedTrace> merge_traces(const std::filesystem::path& folder, const std::filesystem::path& output = {});

/// The same for LACUNA_TRACE, if its job has left traces since; says on standard error what came of it.
void merge_traces_since(std::filesystem::file_time_type begin);

struct TraceOptions {
  std::string folder;
  std::string output;
};

/// `lacuna trace`: merges and says what it has merged. Returns the exit code.
int trace(const TraceOptions& options);

}  // namespace lacuna::cli
