#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/observe/clock_comparison.hpp"
#include "runtime/observe/tracer.hpp"

namespace lacuna {

/// What a rank's trace says of the rank.
struct TraceOrigin {
  std::uint64_t job = 0;  ///< equal on all ranks of a job
  Rank rank = 0;
  Rank size = 1;
  std::string host;
  runtime::TickScale::Line scale;  ///< from ticks to the rank's clock
  runtime::ClockRelation clock;    ///< from the rank's clock to rank 0's
};

/// Writes the trace in the Trace Event Format, times on rank 0's clock. One event stands on each line, between the
/// first line, which also holds "otherData", and the last, so that traces of several ranks are easy to merge.
Status write_trace(const std::filesystem::path& path, const runtime::Tracer& tracer, const TraceOrigin& origin);

}  // namespace lacuna
