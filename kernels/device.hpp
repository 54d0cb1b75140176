#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.hpp"
#include "runtime/values/memory.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::kernels {

/// The streams of a device. Each of them carries out its work in order. They run beside one another.
enum class DeviceStream : std::uint8_t { Compute, ToHost, ToDevice };

inline constexpr std::size_t device_streams = 3;

/// A mark in a stream, which belongs to a device. It has passed once all work that stood before it in the stream has
/// ended.
struct Event;

/// Counts what a device was asked for since it was opened.
struct DeviceCalls {
  std::uint64_t takes = 0;    ///< of memory and of events, which may stop all streams
  std::uint64_t waits = 0;    ///< that block a thread until a stream has come to its end
  std::uint64_t copies = 0;   ///< between the memory of the host and that of the device
  std::uint64_t copied = 0;   ///< bytes of these copies
  std::uint64_t records = 0;  ///< of events
  std::uint64_t queries = 0;  ///< of events
};

/// A device that computes on memory of its own, as this process sees it. Work for it enters a stream, and the call
/// returns at once. All functions but those of MemorySpace are of this kind, and they take no memory, so that a run
/// neither waits nor allocates. Errors of the device are thrown as std::runtime_error, with a text that names the call.
/// Thread rule: any thread, several at the same time. The device stays until the process ends.
class Device {
 public:
  virtual ~Device() = default;

  /// A name such as "NVIDIA H100 80GB HBM3".
  virtual std::string_view name() const = 0;
  /// Its number among the devices that this process sees.
  virtual int number() const = 0;
  /// The kernels. Their work enters the stream Compute. All addresses that they are given must lie in memory() or in
  /// pinned(), or in memory of these kinds that the caller took elsewhere. Lists of views are read at the call.
  virtual const Backend& kernels() const = 0;

  /// The memory of the device, of the kind Cuda.
  virtual MemorySpace& memory() = 0;
  /// Memory of the host that the device reads and writes too, of the kind CudaHost.
  virtual MemorySpace& pinned() = 0;
  /// Tells in which kind of memory an address lies, and on which device. Memory that the device's driver does not know
  /// is the host's.
  virtual Memory where(const void* address) const = 0;

  /// Copies bytes between memory of the device and pinned memory, or within one of them. The two do not overlap.
  virtual void copy(DeviceStream stream, std::byte* to, const std::byte* from, std::size_t bytes) = 0;

  /// Returns an event that has passed. It comes from a pool, which takes memory only if none is left.
  virtual Event* take_event() = 0;
  virtual void give_back(Event* event) = 0;
  /// Moves the event to the end of a stream.
  virtual void record(Event* event, DeviceStream stream) = 0;
  /// Moves the event to the end of a stream of the program, such as a cudaStream_t. Null is the default stream.
  virtual void record(Event* event, void* stream) = 0;
  virtual bool has_passed(Event* event) = 0;
  /// The time from one event of a stream to another one that follows it there. Both have passed.
  virtual double seconds_between(Event* first, Event* second) = 0;
  /// The work that enters the stream after this call begins once the event has passed.
  virtual void wait(DeviceStream stream, Event* event) = 0;
  /// The descriptor, an eventfd, becomes readable once the work that is in the stream now has ended.
  virtual void signal(DeviceStream stream, int fd) = 0;
  /// The work that enters the program's stream after this call begins once the cell, which lies in pinned(), is not 0.
  virtual void hold(void* stream, const std::uint32_t* cell) = 0;

  virtual DeviceCalls calls() const = 0;
};

/// A device, or what is wrong. The library owns what both point to, and keeps it until the process ends.
struct OpenedDevice {
  Device* device = nullptr;
  const char* problem = nullptr;  ///< says in a few words why there is no device
};

/// The function that a library of devices exports. The core asks it for the device of this number, and says which
/// version the core has. Thread rule: any thread.
using DeviceEntry = OpenedDevice(const char* core_version, int number);
inline constexpr const char* device_entry_name = "lacuna_device";

/// Opens the device of this number. The first call loads liblacuna_cuda.so, which lies beside the core, and starts the
/// device. Later calls give the same device. An error says why there is none. Thread rule: any thread.
Result<Device*> open_device(int number);

/// Says for `lacuna info` what open_device(0) would find: the library, the driver and the devices, or why there is no
/// device. Thread rule: any thread.
std::string devices_here();

}  // namespace lacuna::kernels
