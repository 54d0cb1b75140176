#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/observe/log.hpp"

// Calls with data on a device. What they send goes through stages in pinned memory, if the transport takes no memory of
// the device itself.
namespace lacuna::runtime {
namespace {

constexpr std::size_t stage_bytes = 4 << 20;  // shorter copies would not reach the speed of the bus
constexpr std::uint32_t most_stages = 2;      // of one send: one is copied while the other one is on the wire

}  // namespace

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
    computing_.start_work({&part, id}, copy, {.stage = &stage});
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
