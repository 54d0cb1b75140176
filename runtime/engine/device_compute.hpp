#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/device.hpp"
#include "kernels/told_backend.hpp"
#include "runtime/engine/compute.hpp"
#include "runtime/engine/pool.hpp"
#include "runtime/values/fd.hpp"

namespace lacuna::runtime {

/// Is one of the computation's extents in the memory of a device? Then the device must carry it out.
inline bool touches_device(const Computation& computation) {
  return computation.to.memory == MemoryKind::Cuda || computation.from.memory == MemoryKind::Cuda ||
         computation.local.memory == MemoryKind::Cuda;
}

/// Carries out the works of calls whose data lie on a device. Copies and reductions enter one of its streams at once. A
/// kernel runs on a thread that makes progress, without the executor's lock: it may need a number from the device
/// before it can go on. A work ends once an event behind all that it has given to the device has passed. Nothing here
/// blocks a stream or takes memory, once pools have grown to what the calls need.
class DeviceCompute final : public Compute {
 public:
  /// The device outlives this object, and all works have ended before its end.
  explicit DeviceCompute(kernels::Device& device);
  ~DeviceCompute() override;
  DeviceCompute(const DeviceCompute&) = delete;
  DeviceCompute& operator=(const DeviceCompute&) = delete;

  kernels::Device& device() const { return device_; }

  bool takes(std::size_t) const override { return true; }
  Started start(Work& work) override;
  Work* ended() override;
  bool wants_turn() const override;
  int event_fd() const override { return event_.get(); }
  bool arm() override;
  bool advance() override;

 private:
  /// A work that has given all to a stream.
  struct Running {
    Work* work = nullptr;
    kernels::Event* event = nullptr;          ///< it stands behind all that the work has given
    kernels::Event* begun = nullptr;          ///< of a kernel: it stands before that
    kernels::ToldBackend* backend = nullptr;  ///< of a kernel
  };

  void run_at_once(Work& work);
  kernels::Event* mark(kernels::DeviceStream stream);
  void note_running(Running running, kernels::DeviceStream stream);
  kernels::ToldBackend& take_backend();
  void free(const Running& running);
  Work* end(const Running& running);

  kernels::Device& device_;
  const Fd event_;
  mutable std::mutex mutex_;
  Fifo<Work*> kernels_;  ///< that have not begun
  Fifo<Work*> broken_;   ///< that the device could not take, with why
  std::array<Fifo<Running>, kernels::device_streams> running_;
  std::uint64_t signals_ = 0;  ///< that streams will write, or have written, to the descriptor since it was read
  std::vector<std::unique_ptr<kernels::ToldBackend>> backends_;
  std::vector<kernels::ToldBackend*> free_backends_;
};

}  // namespace lacuna::runtime
