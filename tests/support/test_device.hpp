#pragma once

#include <cstddef>

#include "kernels/device.hpp"

namespace lacuna::test {

/// A device as the tests of calls use it, with a stream that stands for the program's. By default it is a mock device.
/// The variable TEST_DEVICE names a library that gives another one, such as tests/cuda/libcuda_test_device.so.
/// Thread rule: one thread for each object.
class TestDevice {
 public:
  virtual ~TestDevice() = default;

  virtual kernels::Device& device() = 0;
  /// The stream of the program.
  virtual void* stream() = 0;
  /// Later, in the order of stream(): fills `block` with `filler`, and copies from the host, where `from` stays as it
  /// is until then.
  virtual void write_late(std::byte* block, std::size_t block_bytes, std::byte filler, std::byte* to,
                          const std::byte* from, std::size_t bytes) = 0;
  /// Copies from the device to the host now.
  virtual void read(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Returns once all streams are empty.
  virtual void finish() = 0;
  /// Nothing moves on the host. Gives a real device the time that it needs.
  virtual void idle() = 0;
};

/// The function that a library of TEST_DEVICE exports. Each call makes an object, which nobody destroys.
using TestDeviceEntry = TestDevice*();
inline constexpr const char* test_device_entry_name = "lacuna_test_device";

/// The device of a rank. It exists until the process ends, so that states of methods may outlive the ranks.
TestDevice& test_device_of(Rank rank);

}  // namespace lacuna::test
