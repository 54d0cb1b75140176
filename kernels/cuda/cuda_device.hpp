#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/device.hpp"

namespace lacuna::kernels {

/// A CUDA device, by the functions of the CUDA runtime. The kernels come from elsewhere: their work enters the stream
/// that compute_stream() returns.
class CudaDevice final : public Device {
 public:
  /// Throws std::runtime_error if the device can't be used.
  explicit CudaDevice(int number);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  cudaStream_t compute_stream() const { return stream_of(DeviceStream::Compute); }
  /// Sets the kernels. Must be called before kernels().
  void set_kernels(const Backend& kernels) { kernels_ = &kernels; }

  std::string_view name() const override { return name_; }
  int number() const override { return number_; }
  const Backend& kernels() const override { return *kernels_; }
  MemorySpace& memory() override;
  MemorySpace& pinned() override;
  Memory where(const void* address) const override;
  void copy(DeviceStream stream, std::byte* to, const std::byte* from, std::size_t bytes) override;
  Event* take_event() override;
  void give_back(Event* event) override;
  void record(Event* event, DeviceStream stream) override;
  void record(Event* event, void* stream) override;
  bool has_passed(Event* event) override;
  double seconds_between(Event* first, Event* second) override;
  void wait(DeviceStream stream, Event* event) override;
  void signal(DeviceStream stream, int fd) override;
  void hold(void* stream, const std::uint32_t* cell) override;
  DeviceCalls calls() const override;

 private:
  class Space;
  struct Counts {
    std::atomic<std::uint64_t> takes{0}, waits{0}, copies{0}, copied{0}, records{0}, queries{0};
  };

  cudaStream_t stream_of(DeviceStream stream) const { return streams_[static_cast<std::size_t>(stream)]; }

  const int number_;
  std::string name_;
  const Backend* kernels_ = nullptr;
  std::array<cudaStream_t, device_streams> streams_{};
  cudaStream_t own_ = nullptr;  ///< of the copies of the memory spaces
  std::unique_ptr<Space> memory_, pinned_;
  mutable Counts counts_;
  std::mutex mutex_;  // guards the events
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<Event*> free_events_;
};

}  // namespace lacuna::kernels
