#include "tests/support/test_device.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "tests/support/mock_device.hpp"

namespace lacuna::test {
namespace {

class OnMock final : public TestDevice {
 public:
  explicit OnMock(Rank rank)
      : mock_({.seed = static_cast<std::uint64_t>(rank) + 1, .number = static_cast<int>(rank)}) {}

  kernels::Device& device() override { return mock_; }
  void* stream() override { return this; }
  void write_late(std::byte* block, std::size_t block_bytes, std::byte filler, std::byte* to, const std::byte* from,
                  std::size_t bytes) override {
    mock_.enqueue(stream(), [=] {
      std::memset(block, std::to_integer<int>(filler), block_bytes);
      if (bytes > 0) std::memcpy(to, from, bytes);
    });
  }
  void read(std::byte* to, const std::byte* from, std::size_t bytes) override { mock_.copy_now(to, from, bytes); }
  void finish() override { mock_.run_all(); }
  void idle() override {}

 private:
  MockDevice mock_;
};

TestDeviceEntry* entry_of(const char* library) {
  void* const handle = ::dlopen(library, RTLD_NOW);
  void* const entry = handle ? ::dlsym(handle, test_device_entry_name) : nullptr;
  if (!entry) throw std::runtime_error(std::string("TEST_DEVICE: ") + ::dlerror());
  return reinterpret_cast<TestDeviceEntry*>(entry);
}

TestDevice* make_test_device(Rank rank) {
  const char* const library = std::getenv("TEST_DEVICE");
  if (!library) return new OnMock(rank);
  static TestDeviceEntry* const entry = entry_of(library);
  return entry();
}

}  // namespace

TestDevice& test_device_of(Rank rank) {
  static std::mutex mutex;
  static auto* const all = new std::map<Rank, TestDevice*>();
  const std::lock_guard lock(mutex);
  TestDevice*& device = (*all)[rank];
  if (!device) device = make_test_device(rank);
  return *device;
}

}  // namespace lacuna::test
