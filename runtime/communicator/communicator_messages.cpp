#include <fmt/format.h>

#include <new>

#include "runtime/communicator/communicator.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/extent.hpp"

namespace lacuna::runtime {

Result<Run*> Communicator::post(const Send& message) {
  return post_message({.kind = RunKind::Send,
                       .data = const_cast<void*>(message.data),  // a send only reads it
                       .count = message.count,
                       .dtype = message.dtype,
                       .peer = message.to,
                       .tag = message.tag,
                       .memory = message.memory,
                       .options = message.options});
}

Result<Run*> Communicator::post(const Receive& message) {
  return post_message({.kind = RunKind::Receive,
                       .data = message.data,
                       .count = message.count,
                       .dtype = message.dtype,
                       .peer = message.from,
                       .tag = message.tag,
                       .memory = message.memory,
                       .options = message.options});
}

Result<Run*> Communicator::post_message(const Message& message) {
  if (Status valid = check(message); !valid) return valid;
  MessageRun* run = nullptr;
  {
    Executor::Lock lock(executor_);
    if (has_failed()) return told_poison();
    if (Status room = runs().has_room_for_message(); !room) return room;
    try {
      run = &executor_.take_message();
      fill(*run, message);
      executor_.prepare(*run);
      add_numbered(*run);
    } catch (const std::bad_alloc&) {
      if (run) give_back(*run);
      return executor_.out_of_memory();
    }
    ++tally(*run).started;
    executor_.begin(*run);
  }
  executor_.flush_deferred();
  show_to_tools(*run);
  return run;
}

Status Communicator::check_deadline(std::chrono::milliseconds deadline) {
  if (deadline.count() >= 0) return {};
  return {Code::InvalidArgument, fmt::format("deadline is {} ms, must be 0 or more", deadline.count())};
}

Status Communicator::check_name(std::string_view what, Rank peer, int tag) const {
  if (peer < 0 || peer >= size()) {
    return {Code::InvalidArgument, fmt::format("{} rank {}, must be 0 .. {}", what, peer, size() - 1)};
  }
  if (tag < 0) return {Code::InvalidArgument, fmt::format("tag is {}, must be 0 .. {}", tag, largest_tag)};
  return {};
}

Status Communicator::check(const Message& message) const {
  if (Status viable = executor_.viable(message.memory); !viable) return viable;
  const bool sends = message.kind == RunKind::Send;
  if (Status valid = check_name(sends ? "send to" : "receive from", message.peer, message.tag); !valid) return valid;
  if (Status valid = check_deadline(message.options.deadline); !valid) return valid;
  const std::string_view what = sends ? "send" : "receive";
  const std::size_t most = most_elements(message.dtype);
  if (message.count > most || !fits_in_memory(message.data, message.count * size_of(message.dtype))) {
    return {Code::InvalidArgument,
            fmt::format("{} of {} of {} from address {} on: no memory holds them, at "
                        "most {} are allowed",
                        what, count_of(message.count, "element"), to_string(message.dtype), message.data, most)};
  }
  if (message.count > 0 && !message.data) {
    return {Code::InvalidArgument,
            fmt::format("{} of {}: the buffer is null", what, count_of(message.count, "element"))};
  }
  return {};
}

void Communicator::fill(MessageRun& run, const Message& message) {
  run.kind = message.kind;
  run.communicator = this;
  run.call.collective = message_call;
  run.call.input = run.call.output = message.data;
  run.call.count = message.count * size_of(message.dtype);
  run.call.dtype = Dtype::U8;
  run.call.memory = message.memory;
  run.call.options.priority = message.options.priority;
  run.call.options.deadline = message.options.deadline;
  run.call.options.notify = message.options.notify;
  run.call.options.keep_alive = message.options.keep_alive;
  run.tag = static_cast<std::uint32_t>(message.tag);
  run.peer = group().process_of(message.peer);
  run.number = 0;
  run.element = message.dtype;
  reset(run);
}

/// Puts a message into the table, and numbers it if it is sent. This is done last, because the receiver waits for each
/// number.
void Communicator::add_numbered(MessageRun& run) {
  runs().add_message(run);
  if (run.kind != RunKind::Send) return;
  try {
    run.number = matching().next_number(run.peer, run.tag);
  } catch (...) {
    runs().remove(run);
    throw;
  }
}

Result<std::optional<std::size_t>> Communicator::probe(Rank from, int tag) {
  if (Status valid = check_name("probe of", from, tag); !valid) return valid;
  if (!executor_.options().progress_thread) executor_.progress();
  Executor::Lock lock(executor_);
  if (has_failed()) return told_poison();
  const Landing* message = matching().waiting(group().process_of(from), static_cast<std::uint32_t>(tag));
  return message ? std::optional<std::size_t>(message->bytes) : std::nullopt;
}

std::size_t Communicator::received(const Run& run) const {
  Executor::Lock lock(executor_);
  return run.kind == RunKind::Receive && run.finished && run.status ? run.call.count : 0;
}

std::string Communicator::text_of_message(const MessageRun& run) const {
  const Rank peer = group().rank_of(run.peer);
  if (run.kind == RunKind::Send) {
    return fmt::format("send of {} to rank {} with tag {}: rank {} has not taken it", count_of(run.call.count, "byte"),
                       peer, run.tag, peer);
  }
  std::string text = fmt::format("receive from rank {} with tag {}", peer, run.tag);
  if (run.active.empty()) return text + ": no message has come";
  const StepState& state = run.active.front()->states[0];
  return text + fmt::format(" misses {} of {}", state.bytes - state.consumed, count_of(state.bytes, "byte"));
}

}  // namespace lacuna::runtime
