#include <memory>
#include <mutex>
#include <string_view>

#include "tests/support/mock_device.hpp"

// A liblacuna_cuda.so whose device is a mock device. With it session.sh --mock runs where there is no CUDA device.
extern "C" __attribute__((visibility("default"))) lacuna::kernels::OpenedDevice lacuna_device(const char* core_version,
                                                                                              int number) {
  using namespace lacuna;
  if (std::string_view(core_version) != LACUNA_VERSION) return {.problem = "it belongs to lacuna " LACUNA_VERSION};
  if (number != 0) return {.problem = "there is one mock device, number 0"};
  static std::mutex mutex;
  static test::MockDevice* device = nullptr;  // it stays until the process ends
  const std::lock_guard lock(mutex);
  if (!device) device = new test::MockDevice({.lateness = 0, .memory_bytes = std::size_t{1} << 30});
  return {.device = device};
}
