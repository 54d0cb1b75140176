#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/observe/clock_comparison.hpp"
#include "runtime/observe/tracer.hpp"

namespace lacuna {

/// What the trace of a rank says about the rank.
struct TraceOrigin {
  std::uint64_t job = 0;  ///< equal on all ranks of a job
  Rank rank = 0;
  Rank size = 1;
  std::string host;
  runtime::TickScale::Line scale;  ///< turns ticks into times on the rank's clock
  runtime::ClockRelation clock;    ///< turns times on the rank's clock into times on rank 0's clock
};

/// Writes the trace in the Trace Event Format, with times on rank 0's clock. The first line also holds "otherData".
/// Between it and the last line, each line holds one event, so that traces of several ranks are easy to merge.
Status write_trace(const std::filesystem::path& path, const runtime::Tracer& tracer, const TraceOrigin& origin);

}  // namespace lacuna
