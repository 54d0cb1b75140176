#pragma once

#include <cstdint>
#include <vector>

#include "runtime/observe/tracer.hpp"

namespace lacuna {

/// A step from its start to its end.
struct StepSlice {
  runtime::Tracer::Event step;
  std::uint64_t begin = 0;  ///< in ticks
  std::uint64_t end = 0;
  std::uint64_t sent = 0;  ///< when its message was handed to the transport; 0: it has sent none
  bool finished = false;   ///< else the trace, or its call, ended before it
  std::size_t lane = 0;    ///< slices of one kind and lane neither overlap nor meet
};

/// A call from its post to its end.
struct CallSlice {
  runtime::Tracer::Event call;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool finished = false;
  Code outcome = Code::Ok;
};

/// What the events of a trace add up to.
struct TraceSlices {
  std::vector<StepSlice> steps;  ///< by begin
  std::vector<CallSlice> calls;  ///< by begin
};

TraceSlices slices_of(const std::vector<runtime::Tracer::Event>& events);

}  // namespace lacuna
