#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/engine/batch.hpp"
#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/observe/log.hpp"

// Calls with data on a device. What they send goes through stages in pinned memory, if the transport takes no memory of
// the device itself.
namespace lacuna::runtime {
namespace {

constexpr std::size_t stage_bytes = 4 << 20;  // shorter copies would not reach the speed of the bus
constexpr std::uint32_t most_stages = 2;      // of one send: one is copied while the other one is on the wire

/// May data of a call with this kind of memory lie where the device says that they lie?
bool may_lie(MemoryKind given, MemoryKind found) {
  if (is_on_device(given)) return is_on_device(found);
  return found != MemoryKind::Cuda;
}

}  // namespace

Status Executor::serve(const Memory& memory, std::span<const void* const> addresses) {
  DeviceCompute* compute = device_.load(std::memory_order_acquire);
  if (is_on_device(memory.kind) && !compute) {
    if (Status opened = open_device(memory); !opened) return opened;
    compute = device_.load(std::memory_order_acquire);
  }
  if (!compute) return {};
  const kernels::Device& device = compute->device();
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

Status Executor::open_device(const Memory& memory) {
  const auto opened = options_.device ? Result(options_.device) : kernels::open_device(memory.device);
  if (!opened) {
    return {Code::Unsupported, fmt::format("a buffer lies in {} memory of device {}: {}", to_string(memory.kind),
                                           memory.device, opened.status().message())};
  }
  Lock lock(*this);
  if (made_device_) return {};
  kernels::Device& device = **opened;
  made_device_ = std::make_unique<DeviceCompute>(device);
  holds_ = std::make_unique<StreamHolds>(device);
  memory_.add(device.memory());
  memory_.add(device.pinned());
  const Status direct = transport_->viable({.kind = MemoryKind::Cuda, .device = device.number()});
  stages_all_ = !direct;
  if (!options_.progress_thread) alarms_.watch(made_device_->event_fd());
  device_.store(made_device_.get(), std::memory_order_release);
  log_info(Subsystem::Executor, "calls compute on device {} ({}); messages {}", device.number(), device.name(),
           direct ? "leave from its memory" : fmt::format("go through pinned memory: {}", direct.message()));
  return {};
}

Status Executor::hold(Run& first, void* stream) {
  if (!options_.progress_thread) {
    return {Code::Unsupported,
            "a stream can wait for a call only where a thread makes progress; set LACUNA_PROGRESS=thread, or wait for "
            "the request on the host"};
  }
  Lock lock(*this);
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

/// Notes when the buffers of a run are ready.
void Executor::mark_ready(Run& run) {
  if (run.call.memory.kind != MemoryKind::Cuda) return;
  kernels::Device& device = made_device_->device();
  if (!run.after) run.after = device.take_event();
  device.record(run.after, run.call.memory.stream);
}

/// Do the run's messages with this memory go through pinned memory? Before the buffers are ready all do, because a copy
/// can wait for that on the device.
bool Executor::is_staged(const Run& run, MemoryKind memory) {
  if (memory != MemoryKind::Cuda) return false;
  return stages_all_ || !made_device_->device().has_passed(run.after);
}

/// Copies further ranges of a message to stages.
void Executor::stage_more(ActivePart& part, StepId id) {
  StepState& state = part.states[id];
  const Extent from = resolve(part, part.graph->steps()[id].from);
  while (state.staged < from.bytes() && state.stages < most_stages) {
    const std::size_t bytes = std::min<std::size_t>(stage_bytes, from.bytes() - state.staged);
    Stage& stage = stages_.take(bytes, state.staged);
    state.staged += bytes;
    ++state.stages;
    const Computation copy{.kind = StepKind::Send,
                           .to = {stage.memory, bytes, Dtype::U8, Reduction::Sum, MemoryKind::CudaHost},
                           .from = {from.data + stage.offset, bytes, Dtype::U8, Reduction::Sum, from.memory}};
    start_work({&part, id}, copy, {.stage = &stage});
  }
}

/// A range lies in its stage, so that it can be sent.
void Executor::end_stage(const Work& work) {
  ActivePart& part = *work.step.part;
  const Rank peer = part.process_at(part.graph->steps()[work.step.step].peer);
  work.holder.stage->users = 1;
  links_[peer].sends.push(part.run->call.options.priority, {.step = work.step, .stage = work.holder.stage});
  links_.request_pump(peer);
}

/// One of the users of a stage does not need it any more. The last one makes room for a further range of the message,
/// if the step goes on.
void Executor::end_use(Stage& stage, const StepOf& step) {
  if (--stage.users > 0) return;
  stages_.release(stage);
  if (!step.part) return;
  --step.part->states[step.step].stages;
  stage_more(*step.part, step.step);
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
