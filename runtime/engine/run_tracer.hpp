#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/engine/run.hpp"
#include "runtime/observe/tracer.hpp"

namespace lacuna::runtime {

/// Tells a Tracer what runs and their steps do. Its owner locks.
class RunTracer {
 public:
  RunTracer(std::size_t capacity, const TimeSource& time) : tracer_(capacity, time) {}

  const Tracer& tracer() const { return tracer_; }

  void call_posted(Run& run);
  void call_ended(const Run& run);
  void step_started(const ActivePart& part, StepId step);
  /// `bytes` of a message were handed to the transport.
  void sent(const ActivePart& part, StepId step, std::size_t bytes, bool eager);
  void step_ended(const ActivePart& part, StepId step);
  /// The calling thread has waited since the time `begin`, in ticks.
  void waited(std::uint64_t begin) { tracer_.waited(begin); }

 private:
  std::uint32_t index_of(const ActivePart& part, const Step& step);
  Tracer::Event of_step(Tracer::Kind kind, const ActivePart& part, StepId step);

  Tracer tracer_;
};

}  // namespace lacuna::runtime
