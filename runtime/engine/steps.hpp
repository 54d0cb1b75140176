#pragma once

#include "runtime/engine/compute.hpp"
#include "runtime/engine/link.hpp"

namespace lacuna::runtime {

/// What those who carry out steps ask of the executor, which schedules the steps. All of it is called under its lock.
class Steps {
 public:
  /// The step has ended. This may start others, and it may end the part and the run, which must not be touched after
  /// it.
  virtual void complete(ActivePart& part, StepId step) = 0;
  /// A work of a step has ended. Its holder is not needed any more.
  virtual void end_work(const Work& work) = 0;
  /// The run has ended before, and nothing uses its buffers any more.
  virtual void free(Run& run) = 0;
  /// Wakes a process of the job by an empty message.
  virtual void wake_process(Rank process) = 0;

 protected:
  ~Steps() = default;
};

}  // namespace lacuna::runtime
