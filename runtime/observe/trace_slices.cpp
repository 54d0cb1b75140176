#include "runtime/observe/trace_slices.hpp"

#include <map>
#include <tuple>

namespace lacuna {
namespace {

using runtime::Tracer;
using Event = Tracer::Event;
using StepKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

StepKey step_key(const Event& event) { return {event.call, event.part, event.step}; }

/// Puts the events together that belong to one call or step. Some of them may be missing if the trace was full.
class Assembly {
 public:
  void add(const Event& event) {
    last_ = std::max(last_, event.ticks);
    switch (event.kind) {
      case Tracer::Kind::CallPosted:
        calls_[event.call] = slices_.calls.size();
        slices_.calls.push_back({.call = event, .begin = event.ticks});
        break;
      case Tracer::Kind::CallEnded:
        end_call(event);
        break;
      case Tracer::Kind::StepStarted:
        steps_[step_key(event)] = slices_.steps.size();
        slices_.steps.push_back({.step = event, .begin = event.ticks});
        break;
      case Tracer::Kind::Sent:
      case Tracer::Kind::StepEnded:
        add_to_step(event);
        break;
      case Tracer::Kind::Waited:
        break;
    }
  }

  TraceSlices finish() && {
    for (CallSlice& call : slices_.calls) {
      if (!call.finished) call.end = last_;
    }
    for (StepSlice& step : slices_.steps) {
      if (step.finished) continue;
      const auto call = calls_.find(step.step.call);
      step.end = call == calls_.end() ? last_ : slices_.calls[call->second].end;
    }
    assign_lanes();
    return std::move(slices_);
  }

 private:
  void end_call(const Event& event) {
    const auto found = calls_.find(event.call);
    if (found == calls_.end()) return;
    CallSlice& call = slices_.calls[found->second];
    call.end = event.ticks;
    call.finished = true;
    call.outcome = event.outcome;
  }
  void add_to_step(const Event& event) {
    const auto found = steps_.find(step_key(event));
    if (found == steps_.end()) return;
    StepSlice& slice = slices_.steps[found->second];
    slice.step.bytes = event.bytes;
    if (event.kind == Tracer::Kind::Sent) {
      slice.sent = event.ticks;
      slice.step.eager = event.eager;
      return;
    }
    slice.end = event.ticks;
    slice.finished = true;
    slice.step.has_message = event.has_message;
    steps_.erase(found);
  }
  void assign_lanes() {
    std::map<StepKind, std::vector<std::uint64_t>> ends;  // the end of the last slice in each lane
    for (StepSlice& slice : slices_.steps) {
      auto& lanes = ends[slice.step.step_kind];
      while (slice.lane < lanes.size() && lanes[slice.lane] >= slice.begin) ++slice.lane;
      if (slice.lane == lanes.size()) lanes.push_back(0);
      lanes[slice.lane] = slice.end;
    }
  }

  TraceSlices slices_;
  std::map<std::uint32_t, std::size_t> calls_;
  std::map<StepKey, std::size_t> steps_;
  std::uint64_t last_ = 0;
};

}  // namespace

TraceSlices slices_of(const std::vector<Event>& events) {
  Assembly assembly;
  for (const Event& event : events) assembly.add(event);
  return std::move(assembly).finish();
}

}  // namespace lacuna
