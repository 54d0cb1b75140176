#include "kernels/cuda/cuda_device.hpp"

#include <unistd.h>

#include <cstring>
#include <new>
#include <stdexcept>

#include "kernels/cuda/driver.hpp"
#include "kernels/cuda/modules.hpp"

namespace lacuna::kernels {

struct Event {
  cudaEvent_t event = nullptr;
};

namespace {

/// Makes a device the calling thread's current one while this object lives.
class Current {
 public:
  explicit Current(int number) : number_(number) {
    if (cudaGetDevice(&before_) == cudaSuccess && before_ != number_) must(cudaSetDevice(number_), "cudaSetDevice");
  }
  ~Current() {
    if (before_ != number_) static_cast<void>(cudaSetDevice(before_));
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const int number_;
  int before_ = 0;
};

void write_signal(void* data) {
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(data));
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd, &one, sizeof one);
}

}  // namespace

/// Memory of the device, or pinned memory of the host.
class CudaDevice::Space final : public MemorySpace {
 public:
  Space(CudaDevice& device, bool pinned) : device_(device), pinned_(pinned) {}

  MemoryKind kind() const override { return pinned_ ? MemoryKind::CudaHost : MemoryKind::Cuda; }
  std::byte* take(std::size_t bytes) override {
    const Current current(device_.number_);
    ++device_.counts_.takes;
    void* memory = nullptr;
    const cudaError_t error = pinned_ ? cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped)
                                      : cudaMalloc(&memory, bytes);
    if (error == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());  // else the next kernel would tell of it
      throw std::bad_alloc();
    }
    must(error, pinned_ ? "cudaHostAlloc" : "cudaMalloc");
    return static_cast<std::byte*>(memory);
  }
  void give_back(std::byte* memory, std::size_t) noexcept override {
    if (memory != nullptr) static_cast<void>(pinned_ ? cudaFreeHost(memory) : cudaFree(memory));
  }
  void clear(std::byte* memory, std::size_t bytes) override {
    if (bytes == 0) return;
    if (pinned_) {
      std::memset(memory, 0, bytes);
      return;
    }
    const Current current(device_.number_);
    must(cudaMemsetAsync(memory, 0, bytes, device_.own_), "cudaMemsetAsync");
    wait();
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes == 0) return;
    if (pinned_) {
      std::memcpy(to, from, bytes);
      return;
    }
    const Current current(device_.number_);
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, device_.own_), "cudaMemcpyAsync");
    wait();
  }

 private:
  void wait() {
    ++device_.counts_.waits;
    must(cudaStreamSynchronize(device_.own_), "cudaStreamSynchronize");
  }

  CudaDevice& device_;
  const bool pinned_;
};

/// No stream waits for the default stream. The program may hold that one until a call has ended.
CudaDevice::CudaDevice(int number) : number_(number) {
  const Current current(number_);
  cudaDeviceProp properties{};
  must(cudaGetDeviceProperties(&properties, number_), "cudaGetDeviceProperties");
  name_ = properties.name;
  for (cudaStream_t& stream : streams_) {
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  must(cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  memory_ = std::make_unique<Space>(*this, false);
  pinned_ = std::make_unique<Space>(*this, true);
}

CudaDevice::~CudaDevice() = default;

MemorySpace& CudaDevice::memory() { return *memory_; }
MemorySpace& CudaDevice::pinned() { return *pinned_; }

Memory CudaDevice::where(const void* address) const {
  cudaPointerAttributes attributes{};
  must(cudaPointerGetAttributes(&attributes, address), "cudaPointerGetAttributes");
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      return {.kind = MemoryKind::Cuda, .device = attributes.device};
    case cudaMemoryTypeManaged:
      return {.kind = MemoryKind::CudaManaged, .device = attributes.device};
    case cudaMemoryTypeHost:
      return {.kind = MemoryKind::CudaHost};
    default:
      return {};
  }
}

void CudaDevice::copy(DeviceStream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  const Current current(number_);
  ++counts_.copies;
  counts_.copied += bytes;
  must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)), "cudaMemcpyAsync");
}

Event* CudaDevice::take_event() {
  const std::lock_guard lock(mutex_);
  if (free_events_.empty()) {
    const Current current(number_);
    ++counts_.takes;
    free_events_.reserve(events_.size() + 1);
    auto made = std::make_unique<Event>();
    must(cudaEventCreate(&made->event), "cudaEventCreate");
    events_.push_back(std::move(made));
    return events_.back().get();
  }
  Event* const event = free_events_.back();
  free_events_.pop_back();
  return event;
}

void CudaDevice::give_back(Event* event) {
  const std::lock_guard lock(mutex_);
  free_events_.push_back(event);
}

void CudaDevice::record(Event* event, DeviceStream stream) { record(event, stream_of(stream)); }

void CudaDevice::record(Event* event, void* stream) {
  const Current current(number_);
  ++counts_.records;
  must(cudaEventRecord(event->event, static_cast<cudaStream_t>(stream)), "cudaEventRecord");
}

bool CudaDevice::has_passed(Event* event) {
  ++counts_.queries;
  const cudaError_t error = cudaEventQuery(event->event);
  if (error == cudaErrorNotReady) return false;
  must(error, "cudaEventQuery");
  return true;
}

double CudaDevice::seconds_between(Event* first, Event* second) {
  const Current current(number_);
  float milliseconds = 0;
  must(cudaEventElapsedTime(&milliseconds, first->event, second->event), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) / 1000;
}

void CudaDevice::wait(DeviceStream stream, Event* event) {
  const Current current(number_);
  must(cudaStreamWaitEvent(stream_of(stream), event->event, 0), "cudaStreamWaitEvent");
}

void CudaDevice::signal(DeviceStream stream, int fd) {
  const Current current(number_);
  must(cudaLaunchHostFunc(stream_of(stream), write_signal, reinterpret_cast<void*>(std::intptr_t{fd})),
       "cudaLaunchHostFunc");
}

void CudaDevice::hold(void* stream, const std::uint32_t* cell) {
  static const auto wait_for =
      driver_function<CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned int)>("cuStreamWaitValue32", 12000);
  const Current current(number_);
  load_modules();
  must(wait_for(static_cast<CUstream>(stream), reinterpret_cast<CUdeviceptr>(cell), 1, CU_STREAM_WAIT_VALUE_GEQ),
       "cuStreamWaitValue32");
}

DeviceCalls CudaDevice::calls() const {
  return {.takes = counts_.takes,
          .waits = counts_.waits,
          .copies = counts_.copies,
          .copied = counts_.copied,
          .records = counts_.records,
          .queries = counts_.queries};
}

}  // namespace lacuna::kernels
