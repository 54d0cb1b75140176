#pragma once

#include <cstdint>
#include <vector>

#include "runtime/observe/tracer.hpp"

namespace lacuna {

/// A step, from its start to its end.
struct StepSlice {
  runtime::Tracer::Event step;
  std::uint64_t begin = 0;  ///< in ticks
  std::uint64_t end = 0;    ///< in ticks
  std::uint64_t sent = 0;   ///< the tick at which its message was handed to the transport; 0: it has sent none
  bool finished = false;    ///< false: the trace, or the call, ended before the step
  std::size_t lane = 0;     ///< slices of one kind and lane neither overlap nor meet
};

/// A call, from its post to its end.
struct CallSlice {
  runtime::Tracer::Event call;
  std::uint64_t begin = 0;  ///< in ticks
  std::uint64_t end = 0;    ///< in ticks
  bool finished = false;    ///< false: the trace ended before the call
  Code outcome = Code::Ok;
};

/// The steps and calls of a trace, put together from its events.
struct TraceSlices {
  std::vector<StepSlice> steps;  ///< ordered by `begin`
  std::vector<CallSlice> calls;  ///< ordered by `begin`
};

TraceSlices slices_of(const std::vector<runtime::Tracer::Event>& events);

}  // namespace lacuna
