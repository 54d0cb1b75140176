#pragma once

#include <array>
#include <memory>

#include "runtime/engine/failures.hpp"
#include "runtime/engine/memory_pools.hpp"
#include "runtime/engine/served_device.hpp"
#include "runtime/engine/steps.hpp"
#include "runtime/observe/flight_record.hpp"

namespace lacuna::runtime {

/// Carries out the computations of steps: at once if they are short, else as works, on the host or on a device.
/// Thread rule: the executor's lock guards all of it. Only advance() and event_fds() need no lock.
class Computing {
 public:
  /// What it works with. All of it outlives the object.
  struct Engine {
    const ExecutorOptions& options;
    const kernels::Backend& kernels;
    MemoryPools& memory;
    ServedDevice& device;
    FlightRecord& record;
    Failures& failures;
    Steps& steps;
  };

  explicit Computing(const Engine& engine);

  /// Starts a copy, a reduction or a clear.
  void start(ActivePart& part, StepId step);
  void start_kernel(ActivePart& part, StepId step);
  /// Must this computation be carried out by a work? If not, it is short enough to be carried out at once.
  bool needs_work(const Computation& what) const { return compute_for(what) != nullptr; }
  /// Starts a work of a step. Steps::end_work() lets go of the holder.
  void start_work(const StepOf& step, const Computation& what, const Holder& holder);

  /// Are there works that have not ended?
  bool is_busy() const { return works_.in_use() > 0; }
  /// Ends all works that have been carried out. Returns false if there are none.
  bool end_works();
  /// Asks for an event. Returns false if a work wants a turn of a thread, or has ended.
  bool may_sleep();
  /// Goes on with works that want a turn of a thread.
  bool advance();
  /// Returns the descriptors of the host's works and of the device's. They are -1 where there are none.
  std::array<int, 2> event_fds() const;

 private:
  Compute* compute_for(const Computation& what) const;
  void copy_for_work(Work& work);
  void end(Work& work);

  const Engine engine_;
  ObjectPool<Work> works_;
  const std::unique_ptr<Compute> host_;  // ends before the memory that its works use
};

}  // namespace lacuna::runtime
