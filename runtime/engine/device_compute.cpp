#include "runtime/engine/device_compute.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <exception>

namespace lacuna::runtime {
namespace {

using kernels::DeviceStream;

/// Is it only a copy of bytes?
bool is_plain_copy(const Computation& what) {
  switch (what.kind) {
    case StepKind::Send:
    case StepKind::Receive:
      return true;
    case StepKind::Copy:
      return what.scale.sum.is_one() && what.to.count <= what.from.count;
    default:
      return false;
  }
}

/// The stream of a work that is no kernel. Copies to and from the host run beside all that computes.
DeviceStream stream_of(const Computation& what) {
  if (!is_plain_copy(what)) return DeviceStream::Compute;
  if (what.to.memory != MemoryKind::Cuda) return DeviceStream::ToHost;
  return what.from.memory != MemoryKind::Cuda ? DeviceStream::ToDevice : DeviceStream::Compute;
}

Status status_of_current_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    return {Code::Internal, error.what()};
  } catch (...) {
    return {Code::Internal, "something that is no std::exception was thrown"};
  }
}

}  // namespace

DeviceCompute::DeviceCompute(kernels::Device& device)
    : device_(device), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

DeviceCompute::~DeviceCompute() = default;

Started DeviceCompute::start(Work& work) {
  const std::lock_guard lock(mutex_);
  if (work.kernel) {
    kernels_.push(&work);
  } else {
    run_at_once(work);
  }
  return Started::Pending;
}

/// Gives a copy or a reduction to its stream.
void DeviceCompute::run_at_once(Work& work) {
  const Computation& what = work.computation;
  const DeviceStream stream = stream_of(what);
  try {
    if (work.after && !device_.has_passed(work.after)) device_.wait(stream, work.after);
    if (is_plain_copy(what)) {
      if (what.to.bytes() > 0) device_.copy(stream, what.to.data, what.from.data, what.to.bytes());
    } else {
      carry_out(device_.kernels(), what);
    }
    note_running({.work = &work}, stream);
  } catch (...) {
    work.status = status_of_current_exception();
    broken_.push(&work);
  }
}

/// Returns an event at the end of a stream.
kernels::Event* DeviceCompute::mark(DeviceStream stream) {
  kernels::Event* const event = device_.take_event();
  try {
    device_.record(event, stream);
  } catch (...) {
    device_.give_back(event);
    throw;
  }
  return event;
}

/// The work ends once all that is in the stream now has ended.
void DeviceCompute::note_running(Running running, DeviceStream stream) {
  running.event = mark(stream);
  running_[static_cast<std::size_t>(stream)].push(running);
}

kernels::ToldBackend& DeviceCompute::take_backend() {
  if (free_backends_.empty()) {
    free_backends_.reserve(backends_.size() + 1);
    backends_.push_back(std::make_unique<kernels::ToldBackend>(device_));
    free_backends_.push_back(backends_.back().get());
  }
  kernels::ToldBackend* const backend = free_backends_.back();
  free_backends_.pop_back();
  backend->begin();
  return *backend;
}

bool DeviceCompute::advance() {
  Running running;
  Status problem;
  {
    const std::lock_guard lock(mutex_);
    if (kernels_.empty()) return false;
    running.work = kernels_.pop();
    try {
      running.backend = &take_backend();
      kernels::Event* const after = running.work->after;
      if (after && !device_.has_passed(after)) device_.wait(DeviceStream::Compute, after);
      running.begun = mark(DeviceStream::Compute);
    } catch (...) {
      problem = status_of_current_exception();
    }
  }
  Work& work = *running.work;
  if (problem) {
    work.backend = running.backend;
    carry_out(work);
  } else {
    work.status = problem;
  }
  const std::lock_guard lock(mutex_);
  try {
    if (!running.backend) throw std::bad_alloc();
    note_running(running, DeviceStream::Compute);
  } catch (...) {
    if (work.status) work.status = status_of_current_exception();
    free(running);
    broken_.push(&work);
  }
  return true;
}

Work* DeviceCompute::ended() {
  const std::lock_guard lock(mutex_);
  if (!broken_.empty()) return broken_.pop();
  for (Fifo<Running>& running : running_) {
    if (running.empty()) continue;
    Running& first = running.front();
    try {
      if (!device_.has_passed(first.event)) continue;
    } catch (...) {  // the device does nothing any more, so it does not touch the memory of its works
      if (first.work->status) first.work->status = status_of_current_exception();
    }
    return end(running.pop());
  }
  std::uint64_t written = 0;
  if (signals_ > 0 && ::read(event_.get(), &written, sizeof written) > 0) signals_ -= written;
  return nullptr;
}

void DeviceCompute::free(const Running& running) {
  if (running.event) device_.give_back(running.event);
  if (running.begun) device_.give_back(running.begun);
  if (running.backend) free_backends_.push_back(running.backend);
}

/// Ends a work whose event has passed. The times that its kernel has told become those of the device.
Work* DeviceCompute::end(const Running& running) {
  Work& work = *running.work;
  try {
    if (running.begun && work.status) work.measures.retime(device_.seconds_between(running.begun, running.event));
  } catch (...) {
    work.status = status_of_current_exception();
  }
  free(running);
  return &work;
}

bool DeviceCompute::wants_turn() const {
  const std::lock_guard lock(mutex_);
  return !kernels_.empty() || !broken_.empty();
}

bool DeviceCompute::arm() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (running_[i].empty()) continue;
    try {
      if (device_.has_passed(running_[i].front().event)) return false;
      device_.signal(static_cast<DeviceStream>(i), event_.get());
      ++signals_;
    } catch (...) {
      return false;  // ended() tells of it
    }
  }
  return true;
}

}  // namespace lacuna::runtime
