#include <fmt/format.h>

#include <new>

#include "runtime/communicator/check_exchange.hpp"
#include "runtime/communicator/communicator.hpp"
#include "runtime/engine/message_tags.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/extent.hpp"

namespace lacuna::runtime {

Communicator::Message Communicator::side_of(const Send& message) {
  return {.kind = RunKind::Send,
          .data = const_cast<void*>(message.data),  // a send only reads it
          .count = message.count,
          .dtype = message.dtype,
          .peer = message.to,
          .tag = static_cast<std::uint32_t>(message.tag),
          .memory = message.memory,
          .options = message.options};
}

Communicator::Message Communicator::side_of(const Receive& message) {
  return {.kind = RunKind::Receive,
          .data = message.data,
          .count = message.count,
          .dtype = message.dtype,
          .peer = message.from,
          .tag = static_cast<std::uint32_t>(message.tag),
          .memory = message.memory,
          .options = message.options};
}

Result<Run*> Communicator::post(const Send& message) {
  const Message side = side_of(message);
  if (Status valid = check(side, message.tag); !valid) return valid;
  return post_batch(1, [&](const auto& visit) { visit(side); });
}

Result<Run*> Communicator::post(const Receive& message) {
  const Message side = side_of(message);
  if (Status valid = check(side, message.tag); !valid) return valid;
  return post_batch(1, [&](const auto& visit) { visit(side); });
}

Result<Run*> Communicator::post(const Send& out, const Receive& in) {
  const Message first = side_of(in), second = side_of(out);
  if (Status valid = check(first, in.tag); !valid) return valid;
  if (Status valid = check(second, out.tag); !valid) return valid;
  const std::size_t taken = in.count * size_of(in.dtype), given = out.count * size_of(out.dtype);
  if (share_bytes(in.data, taken, out.data, given)) {
    return Status(
        Code::InvalidArgument,
        fmt::format("sendrecv: what is sent ({}) and the room for what is received ({}) overlap; they must be "
                    "disjoint",
                    count_of(given, "byte"), count_of(taken, "byte")));
  }
  return post_batch(2, [&](const auto& visit) {
    visit(first);
    visit(second);
  });
}

/// The receives begin first, so that messages find them.
template <class Visit>
void Communicator::each_message(const Exchange& exchange, const Visit& visit) {
  for (const RunKind kind : {RunKind::Receive, RunKind::Send}) {
    const bool sends = kind == RunKind::Send;
    for (std::size_t i = 0; i < exchange.neighbours.size(); ++i) {
      const Neighbour& neighbour = exchange.neighbours[i];
      const Halo& halo = exchange.halos[i];
      if (neighbour.rank == Neighbour::nobody) continue;
      visit({.kind = kind,
             .data = sends ? const_cast<void*>(halo.send) : halo.receive,
             .count = sends ? halo.send_count : halo.receive_count,
             .dtype = halo.dtype,
             .peer = neighbour.rank,
             .tag = tag_of_exchange(exchange.tag, sends ? neighbour.send_direction : neighbour.receive_direction),
             .memory = exchange.memory,
             .options = exchange.options});
    }
  }
}

Result<Run*> Communicator::post(const Exchange& exchange) {
  if (Status valid = check(exchange); !valid) return valid;
  std::size_t count = 0;
  each_message(exchange, [&](const Message&) { ++count; });
  return post_batch(count, [&](const auto& visit) { each_message(exchange, visit); });
}

template <class Each>
Result<Run*> Communicator::post_batch(std::size_t count, const Each& each) {
  Run* first = nullptr;
  {
    Executor::Lock lock(executor_);
    if (has_failed()) return told_poison();
    if (Status room = runs().has_room_for_messages(count); !room) return room;
    try {
      first = make_batch(each);
      if (first) add_numbered(*first);
    } catch (const std::bad_alloc&) {
      give_back_batch(first);
      return executor_.out_of_memory();
    }
    for (Run* run = first; run; run = run->next) ++tally(*run).started;
    if (first) executor_.begin(*first);
  }
  executor_.flush_deferred();
  if (first) show_to_tools(*first);
  return first;
}

/// Returns the first of these messages, which are prepared and not numbered. If there is no memory for all of them, it
/// throws std::bad_alloc and has made none.
template <class Each>
Run* Communicator::make_batch(const Each& each) {
  Run* first = nullptr;
  Run** end = &first;
  try {
    each([&](const Message& message) {
      MessageRun& run = executor_.take_message();
      *end = &run;
      end = &run.next;
      run.first = first;
      fill(run, message);
      executor_.prepare(run);
    });
  } catch (...) {
    give_back_batch(first);
    throw;
  }
  return first;
}

void Communicator::give_back_batch(Run* first) {
  while (first) {
    Run& run = *first;
    first = run.next;
    give_back(run);
  }
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

Status Communicator::check(const Message& message, int tag) const {
  const bool sends = message.kind == RunKind::Send;
  const bool from_any = message.kind == RunKind::Receive && !is_of_exchange(message.tag) && message.peer == any_rank;
  if (Status valid = check_name(sends ? "send to" : "receive from", from_any ? 0 : message.peer, tag); !valid) {
    return valid;
  }
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
  const void* const address = message.count > 0 ? message.data : nullptr;
  return executor_.serve(message.memory, {&address, 1});
}

Status Communicator::check(const Exchange& exchange) const try {
  Status valid = check_exchange(exchange);
  if (valid) {
    each_message(exchange, [&](const Message& message) {
      if (valid) valid = check(message, exchange.tag);
    });
  }
  if (valid) valid = check_halos_apart(exchange);
  return valid ? valid : Status(valid.code(), fmt::format("exchange: {}", valid.message()));
} catch (const std::bad_alloc&) {
  return executor_.out_of_memory();
}

void Communicator::fill(MessageRun& run, const Message& message) {
  run.kind = message.kind;
  run.communicator = this;
  run.call.collective = message_call;
  run.call.input = run.call.output = message.data;
  run.call.count = message.count * size_of(message.dtype);
  run.call.dtype = Dtype::U8;
  run.call.memory = memory_of_engine(message.memory);
  run.call.options.priority = message.options.priority;
  run.call.options.deadline = message.options.deadline;
  run.call.options.notify = message.options.notify;
  run.call.options.keep_alive = message.options.keep_alive;
  run.tag = message.tag;
  run.peer = message.peer == any_rank ? MessageRun::any_process : group().process_of(message.peer);
  run.number = 0;
  run.element = message.dtype;
  reset(run);
}

/// Puts the messages of a batch into the table, and numbers those that are sent. This is done last, because the
/// receiver waits for each number.
void Communicator::add_numbered(Run& first) {
  Run* run = &first;
  try {
    for (; run; run = run->next) {
      if (run->kind == RunKind::Send) matching().meet(as_message(*run).peer);
      runs().add_message(as_message(*run));
    }
  } catch (...) {
    for (Run* added = &first; added != run; added = added->next) runs().remove(as_message(*added));
    throw;
  }
  for (run = &first; run; run = run->next) {
    MessageRun& message = as_message(*run);
    if (run->kind == RunKind::Send) message.number = matching().next_number(message.peer, message.tag);
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

Rank Communicator::source(const Run& run) const {
  Executor::Lock lock(executor_);
  const bool has_come = run.kind == RunKind::Receive && run.finished && run.status;
  return has_come ? group().rank_of(as_message(run).peer) : any_rank;
}

std::string Communicator::text_of_message(const MessageRun& run) const {
  if (run.kind == RunKind::Send) {
    return fmt::format("send of {} to rank {} with {}: rank {} has not taken it", count_of(run.call.count, "byte"),
                       run.peer, text_of_tag(run.tag), run.peer);
  }
  const bool from_any = run.peer == MessageRun::any_process;
  std::string text = fmt::format("receive from {} with {}", from_any ? "any rank" : fmt::format("rank {}", run.peer),
                                 text_of_tag(run.tag));
  if (run.active.empty()) return text + ": no message has come";
  const StepState& state = run.active.front().states[0];
  return text + fmt::format(" misses {} of {}", state.bytes - state.consumed, count_of(state.bytes, "byte"));
}

}  // namespace lacuna::runtime
