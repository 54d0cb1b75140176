#include <fmt/format.h>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/engine/message_tags.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna::runtime {
namespace {

const PartPlan whole_message;

}  // namespace

void Executor::begin_message(MessageRun& run) {
  if (run.kind == RunKind::Send) {
    ActivePart& part = run.active.front();
    part.digest = run.number;
    start(part, 0);
  } else if (Landing* message = run.communicator->matching().expect(run)) {
    receive_landed({&run, message});
  }
}

/// Makes the only part of a message. Its length is known by now.
ActivePart& Executor::make_message_part(MessageRun& run) {
  ActivePart& part = add_part(run);
  part.order = {part.group->size(), part.group->rank_of(run.peer)};
  part.position = 0;
  part.graph = run.kind == RunKind::Send ? message_graphs_.send : message_graphs_.receive;
  part.number = 0;
  part.greets = true;
  part.digest = run.number;
  part.plan = &whole_message;
  part.offset = 0;
  part.count = run.call.count;
  run.past_caches = run.call.count >= options_.cache_bytes;
  lay_out_part(part);
  return part;
}

/// Begins a receive whose message has arrived, at least in part.
void Executor::receive_landed(const Matching::Met& met) {
  MessageRun& run = *met.receive;
  Landing* message = met.message;
  if (const Status fit = run.communicator->matching().hand_over(met); !fit) {
    const Rank source = message->source;
    landings_.release(message);
    return refuse_message(run, source, fit);
  }
  run.call.count = message->bytes;
  run.number = message->digest;
  ActivePart* part = nullptr;
  landings_.give(message, [&] { part = &make_message_part(run); });
  part->states[0].landing = message;
  start(*part, 0);
}

/// Begins the receive of a message that has begun to arrive. Then the messages that waited for this one may begin
/// theirs.
void Executor::receive_first(Client& communicator, Place& place, const Arrival& message) {
  const MessageHeader& header = message.header;
  if (MessageRun* receive = place.receive) {
    const Status fit = fits(*receive, message.from, header.bytes, header.dtype);
    if (fit) {
      receive->call.count = header.bytes;
      receive->number = header.digest;
      place.part = &make_message_part(*receive);
      start(*place.part, 0);
    } else {
      refuse_message(*receive, message.from, fit);
    }
  }
  if (!place.in_turn) return;
  while (const auto met = communicator.matching().next_met(message.from, header.run)) receive_landed(*met);
}

/// Ends a receive whose message does not fit. If it belongs to an exchange, all ranks learn of it, and here nothing of
/// the communicator goes on.
void Executor::refuse_message(MessageRun& receive, Rank source, const Status& why) {
  if (!is_of_exchange(receive.tag)) return finish_run(receive, why);
  Client& communicator = *receive.communicator;
  failures_.report_message(communicator, Trouble::Kind::Mismatch, {.source = source, .tag = receive.tag},
                           std::string(why.message()));
  failures_.fail(communicator, why);
}

}  // namespace lacuna::runtime
