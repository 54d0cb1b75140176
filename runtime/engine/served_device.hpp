#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "runtime/engine/device_compute.hpp"
#include "runtime/engine/executor_options.hpp"
#include "runtime/engine/memory_pools.hpp"
#include "runtime/engine/run.hpp"
#include "runtime/engine/stream_holds.hpp"
#include "runtime/values/memory.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// The device on which an executor's calls compute, once one had its data there, and the streams of the program that
/// wait for calls.
/// Thread rule: the executor's lock guards all of it. Only find(), compute() and check() need no lock.
class ServedDevice {
 public:
  /// `memory` outlives the object.
  ServedDevice(const ExecutorOptions& options, MemoryPools& memory) : options_(options), memory_(memory) {}

  /// Returns the device of this memory. It may take long.
  Result<kernels::Device*> find(const Memory& memory) const;
  /// Serves the device from now on. `direct`: the transport takes its memory.
  void open(kernels::Device& device, bool direct);
  /// Returns what computes on the device, or null if none is served.
  DeviceCompute* compute() const { return compute_.load(std::memory_order_acquire); }
  /// Returns ok, or why calls with data in this memory are not served. The device, if it is one, must be served and
  /// must reach the addresses, of which a null one lies nowhere.
  Status check(const Memory& memory, std::span<const void* const> addresses) const;

  /// Notes when the buffers of a run are ready.
  void mark_ready(Run& run);
  /// The run needs the note no more.
  void forget(Run& run);
  /// Do the run's messages with this memory go through pinned memory? Before the buffers are ready all do, because a
  /// copy can wait for that on the device.
  bool stages(const Run& run, MemoryKind memory) const;

  /// The work that enters this stream of the program from now on begins once the runs of the batch have ended. Returns
  /// ok, or why the stream can't wait.
  Status hold(Run& first, void* stream);
  /// The run has ended, so that the streams which wait for it go on.
  void release_streams(Run& run) {
    if (run.holds) holds_->release(run.holds);
  }

 private:
  const ExecutorOptions& options_;
  MemoryPools& memory_;
  std::unique_ptr<DeviceCompute> made_;  // made under the lock, as is `holds_`; both stay
  std::unique_ptr<StreamHolds> holds_;
  std::atomic<DeviceCompute*> compute_{nullptr};
  bool stages_all_ = true;  // the transport takes no memory of the device
};

}  // namespace lacuna::runtime
