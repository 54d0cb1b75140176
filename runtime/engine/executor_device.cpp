#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/observe/log.hpp"

// Calls with data on a device. What they send goes through stages in pinned memory, if the transport takes no memory of
// the device itself.
namespace lacuna::runtime {
Status Executor::serve(const Memory& memory, std::span<const void* const> addresses) {
  if (is_on_device(memory.kind) && !device_.compute()) {
    const auto found = device_.find(memory);
    if (!found) return found.status();
    open_device(**found);
  }
  return device_.check(memory, addresses);
}

void Executor::open_device(kernels::Device& device) {
  Lock lock(*this);
  if (device_.compute()) return;
  const Status direct = transport_->viable({.kind = MemoryKind::Cuda, .device = device.number()});
  device_.open(device, direct.is_ok());
  if (!options_.progress_thread) alarms_.watch(device_.compute()->event_fd());
  log_info(Subsystem::Executor, "calls compute on device {} ({}); messages {}", device.number(), device.name(),
           direct ? "leave from its memory" : fmt::format("go through pinned memory: {}", direct.message()));
}

Status Executor::hold(Run& first, void* stream) {
  if (!options_.progress_thread) {
    return {Code::Unsupported,
            "a stream can wait for a call only where a thread makes progress; set LACUNA_PROGRESS=thread, or wait for "
            "the request on the host"};
  }
  Lock lock(*this);
  return device_.hold(first, stream);
}

/// The device could not do what it was given. No other rank can know, so the communicator fails on all of them.
void Executor::device_failed(const Work& work) {
  const Run& run = *work.step.part->run;
  std::string text = fmt::format("rank {}: {}", rank_, work.status.message());
  if (run.kind == RunKind::Collective) {
    return failures_.report(*run.communicator, Trouble::Kind::Mismatch, as_collective(run).number, std::move(text));
  }
  failures_.report_message(as_message(run), Trouble::Kind::Mismatch, as_message(run).peer, text);
}

}  // namespace lacuna::runtime
