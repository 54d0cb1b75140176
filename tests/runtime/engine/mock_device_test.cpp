#include "tests/support/mock_device.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>

namespace lacuna::test {
namespace {

using kernels::DeviceStream;

constexpr std::size_t bytes = 64;

TEST(MockDeviceDeathTest, TheHostCannotTouchItsMemory) {
  MockDevice device;
  std::byte* const memory = device.memory().take(bytes);
  EXPECT_DEATH(*memory = std::byte{1}, "");  // by a signal, or by whoever handles it
  device.memory().give_back(memory, bytes);
}

TEST(MockDeviceDeathTest, WorkOnMemoryOfTheHostEndsTheProcessWithItsName) {
  MockDevice device;
  std::byte host[bytes] = {};
  std::byte* const memory = device.memory().take(bytes);
  EXPECT_DEATH(device.copy(DeviceStream::ToDevice, memory, host, bytes), "copy\\(\\) is given the address");
  EXPECT_DEATH(device.kernels().clear({Dtype::U8, host, bytes}), "clear\\(\\) is given the address");
  device.memory().give_back(memory, bytes);
}

TEST(MockDevice, WorkIsDoneInTheOrderOfItsStreamAndOnlyAsEventsAreLookedAt) {
  MockDevice device({.lateness = 0});
  std::byte* const memory = device.memory().take(bytes);
  std::byte* const from = device.pinned().take(bytes);
  std::byte* const to = device.pinned().take(bytes);
  std::memset(from, 7, bytes);
  std::memset(to, 0, bytes);
  device.copy(DeviceStream::Compute, memory, from, bytes);
  device.copy(DeviceStream::Compute, to, memory, bytes);
  kernels::Event* const event = device.take_event();
  EXPECT_TRUE(device.has_passed(event));
  device.record(event, DeviceStream::Compute);
  EXPECT_EQ(to[0], std::byte{0});
  while (!device.has_passed(event)) {
  }
  EXPECT_EQ(to[bytes - 1], std::byte{7});
  device.give_back(event);
  device.memory().give_back(memory, bytes);
  device.pinned().give_back(from, bytes);
  device.pinned().give_back(to, bytes);
  EXPECT_EQ(device.in_use(), 0u);
}

TEST(MockDevice, AStreamWaitsForAnEventOfAnotherOneAndAHeldOneForItsCell) {
  MockDevice device;
  int program = 0;
  auto* const cell = reinterpret_cast<std::uint32_t*>(device.pinned().take(sizeof(std::uint32_t)));
  *cell = 0;
  std::string order;
  device.hold(&program, cell);
  device.enqueue(&program, [&] { order += "program "; });
  kernels::Event* const event = device.take_event();
  device.record(event, &program);
  device.wait(DeviceStream::Compute, event);
  kernels::Event* const last = device.take_event();
  device.record(last, DeviceStream::Compute);
  EXPECT_FALSE(device.run_all());
  EXPECT_FALSE(device.has_passed(last));
  EXPECT_EQ(order, "");
  *cell = 1;
  EXPECT_TRUE(device.run_all());
  EXPECT_TRUE(device.has_passed(last));
  EXPECT_EQ(order, "program ");
  device.give_back(event);
  device.give_back(last);
  device.pinned().give_back(reinterpret_cast<std::byte*>(cell), sizeof *cell);
}

TEST(MockDevice, ASignalMakesItsDescriptorReadableAtTheEndOfTheStream) {
  MockDevice device;
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  device.signal(DeviceStream::ToHost, fd);
  pollfd asked = {.fd = fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&asked, 1, 0), 0);
  EXPECT_TRUE(device.run_all());
  EXPECT_EQ(::poll(&asked, 1, 0), 1);
  ::close(fd);
}

TEST(MockDevice, TellsWhereAnAddressLies) {
  MockDevice device({.number = 2});
  int host = 0;
  std::byte* const memory = device.memory().take(bytes);
  std::byte* const pinned = device.pinned().take(bytes);
  EXPECT_EQ(device.where(memory + 5).kind, MemoryKind::Cuda);
  EXPECT_EQ(device.where(memory + 5).device, 2);
  EXPECT_EQ(device.where(pinned + 5).kind, MemoryKind::CudaHost);
  EXPECT_EQ(device.where(&host).kind, MemoryKind::Host);
  device.memory().give_back(memory, bytes);
  device.pinned().give_back(pinned, bytes);
}

}  // namespace
}  // namespace lacuna::test
