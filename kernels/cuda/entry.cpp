#include <cuda_runtime_api.h>

#include <Kokkos_Core.hpp>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "kernels/cuda/cuda_device.hpp"
#include "kernels/space_backend.hpp"

/// The entry of the library for CUDA devices. Its Kokkos is its own, and stays until the process exits.
namespace lacuna::kernels {
namespace {

const SpaceBackend on_device;

/// The device of this process, or what is wrong.
struct Opened {
  int number = 0;
  std::unique_ptr<CudaDevice> device;
  std::string problem;
};

/// Says why there is no device of this number. Empty if there is one.
std::string missing(int number) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return std::string("there is no device: ") + cudaGetErrorString(error);
  }
  if (number >= 0 && number < count) return {};
  return "there is no device " + std::to_string(number) + ", this process sees " + std::to_string(count) +
         ", counted from 0";
}

Opened open(int number) {
  Opened opened{.number = number, .device = nullptr, .problem = missing(number)};
  if (!opened.problem.empty()) return opened;
  try {
    Kokkos::initialize(Kokkos::InitializationSettings().set_device_id(number));
    std::atexit(Kokkos::finalize);  // else it complains
    opened.device = std::make_unique<CudaDevice>(number);
    Space::set_instance(Kokkos::DefaultExecutionSpace(opened.device->compute_stream()));
    opened.device->set_kernels(on_device);
  } catch (const std::exception& error) {
    opened.device.reset();
    opened.problem = error.what();
  }
  return opened;
}

}  // namespace

std::string_view SpaceBackend::name() const { return Space::name(); }

}  // namespace lacuna::kernels

extern "C" __attribute__((visibility("default"))) lacuna::kernels::OpenedDevice lacuna_device(const char* core_version,
                                                                                              int number) {
  using namespace lacuna::kernels;
  if (std::string_view(core_version) != LACUNA_VERSION) return {.problem = "it belongs to lacuna " LACUNA_VERSION};
  static std::mutex mutex;
  static Opened* opened = nullptr;
  const std::lock_guard lock(mutex);
  if (opened == nullptr || opened->device == nullptr) {  // a device may be found later
    opened = new Opened(open(number));
  }
  if (opened->device == nullptr) return {.problem = opened->problem.c_str()};
  if (opened->number == number) return {.device = opened->device.get()};
  static const std::string other =
      "this process computes on device " + std::to_string(opened->number) + ", where its first buffers lay";
  return {.problem = other.c_str()};
}
