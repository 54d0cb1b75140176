#include "runtime/engine/served_device.hpp"

#include <fmt/format.h>

#include <utility>

#include "runtime/engine/batch.hpp"

namespace lacuna::runtime {
namespace {

/// May data of a call with this kind of memory lie where the device says that they lie?
bool may_lie(MemoryKind given, MemoryKind found) {
  if (is_on_device(given)) return is_on_device(found);
  return found != MemoryKind::Cuda;
}

}  // namespace

Result<kernels::Device*> ServedDevice::find(const Memory& memory) const {
  auto opened = options_.device ? Result(options_.device) : kernels::open_device(memory.device);
  if (opened) return opened;
  return Status(Code::Unsupported, fmt::format("a buffer lies in {} memory of device {}: {}", to_string(memory.kind),
                                               memory.device, opened.status().message()));
}

void ServedDevice::open(kernels::Device& device, bool direct) {
  made_ = std::make_unique<DeviceCompute>(device);
  holds_ = std::make_unique<StreamHolds>(device);
  memory_.add(device.memory());
  memory_.add(device.pinned());
  stages_all_ = !direct;
  compute_.store(made_.get(), std::memory_order_release);
}

Status ServedDevice::check(const Memory& memory, std::span<const void* const> addresses) const {
  const DeviceCompute* const served = compute();
  if (!served) return {};
  const kernels::Device& device = served->device();
  if (is_on_device(memory.kind) && memory.device != device.number()) {
    return {
        Code::Unsupported,
        fmt::format("a buffer lies on device {}; this process computes on device {}, where the buffers of its first "
                    "such call lay",
                    memory.device, device.number())};
  }
  for (const void* address : addresses) {
    if (!address) continue;
    const Memory found = device.where(address);
    if (!may_lie(memory.kind, found.kind)) {
      return {Code::InvalidArgument, fmt::format("the buffer at {} is said to lie in {} memory; it lies in {} memory",
                                                 address, to_string(memory.kind), to_string(found.kind))};
    }
    if (found.kind == MemoryKind::Cuda && found.device != device.number()) {
      return {Code::InvalidArgument, fmt::format("the buffer at {} is said to lie on device {}; it lies on device {}",
                                                 address, memory.device, found.device)};
    }
  }
  return {};
}

void ServedDevice::mark_ready(Run& run) {
  if (run.call.memory.kind != MemoryKind::Cuda) return;
  kernels::Device& device = made_->device();
  if (!run.after) run.after = device.take_event();
  device.record(run.after, run.call.memory.stream);
}

void ServedDevice::forget(Run& run) {
  if (run.after) made_->device().give_back(std::exchange(run.after, nullptr));
}

bool ServedDevice::stages(const Run& run, MemoryKind memory) const {
  if (memory != MemoryKind::Cuda) return false;
  return stages_all_ || !made_->device().has_passed(run.after);
}

Status ServedDevice::hold(Run& first, void* stream) {
  if (has_ended(first)) return {};
  if (!holds_) return {Code::Unsupported, "a stream can't wait for a call before a call had its data on a device"};
  try {
    for (Run* run = &first; run; run = run->next) {
      if (!run->finished) holds_->hold(stream, run->holds);
    }
  } catch (const std::exception& error) {
    return {Code::Internal, fmt::format("the stream can't wait for the call: {}", error.what())};
  }
  return {};
}

}  // namespace lacuna::runtime
