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
  std::vector<Rank> ranks{};            ///< the ranks whose traces are in the file
  std::vector<Rank> missing{};          ///< the ranks that left no trace
  std::vector<std::string> left_out{};  ///< files of other jobs
  std::uint64_t events = 0;
  std::uint64_t dropped = 0;  ///< events that the ranks had no room for

  std::string to_string() const;
};

/// Merges the traces that the ranks of a job left in `folder` (LACUNA_TRACE) into one file, which is
/// `folder`/trace.json unless `output` says otherwise. If several jobs left some, those of the last job count. An error
/// changes nothing.
Result<MergedTrace> merge_traces(const std::filesystem::path& folder, const std::filesystem::path& output = {});

/// Merges the traces in LACUNA_TRACE if its job has left some since `begin`, and says on standard error what came of
/// it.
void merge_traces_since(std::filesystem::file_time_type begin);

struct TraceOptions {
  std::string folder;
  std::string output;
};

/// Carries out `lacuna trace`: merges and says what it has merged. Returns the exit code.
int trace(const TraceOptions& options);

}  // namespace lacuna::cli
