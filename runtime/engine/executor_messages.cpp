#include <fmt/format.h>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"

namespace lacuna::runtime {
namespace {

const PartPlan whole_message;

}  // namespace

void Executor::begin_message(MessageRun& run) {
  if (run.kind == RunKind::Send) {
    ActivePart& part = *run.active.front();
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
  lay_out_part(part);
  return part;
}

/// Begins a receive whose message has arrived, at least in part.
void Executor::receive_landed(const Matching::Met& met) {
  MessageRun& run = *met.receive;
  Landing* message = met.message;
  if (const Status fit = run.communicator->matching().hand_over(met); !fit) {
    landings_.release(message);
    return finish_run(run, fit);
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
void Executor::receive_first(Place& place, const Arrival& message) {
  const MessageHeader& header = message.header;
  Matching& matching = serving_->matching();
  if (MessageRun* receive = place.receive) {
    const Status fit = fits(*receive, message.from, header.bytes, header.dtype);
    if (fit) {
      receive->call.count = header.bytes;
      receive->number = header.digest;
      place.part = &make_message_part(*receive);
      start(*place.part, 0);
    } else {
      finish_run(*receive, fit);
    }
  }
  if (!place.in_turn) return;
  while (const auto met = matching.next_met(message.from, header.run)) receive_landed(*met);
}

void Executor::check_messages(Client& communicator, Clock::time_point now, bool stalled) {
  std::vector<bool> asked(stalled ? links_.size() : 0);
  const auto& messages = communicator.runs().messages();
  for (std::size_t i = messages.size(); i-- > 0;) {  // ending one moves the last to its place
    MessageRun& run = *messages[i];
    const Link& peer = links_[run.peer];
    const bool unmet = run.kind == RunKind::Receive && run.active.empty();
    if (now >= run.deadline && unmet) {
      const std::string text = communicator.text_of(run);
      communicator.matching().forget(run);
      finish_run(run, {Code::TimedOut, fmt::format("the deadline has passed on rank {}: {}", rank_, text)});
      continue;
    }
    const bool broken = peer.broken_since && now >= *peer.broken_since + broken_link_grace;
    if (!run.expiry_reported && (now >= run.deadline || broken)) {
      run.expiry_reported = true;
      message_trouble(broken ? Trouble::Kind::Broken : Trouble::Kind::Expired, run,
                      broken ? fmt::format("the connection broke ({})", peer.broken.message()) : "");
    }
    if (now >= run.deadline + verdict_grace) {
      failures_.emplace_back(&communicator, Status(Code::TimedOut, communicator.text_of(run)));
    }
    duties_.expect(unmet || !run.expiry_reported ? run.deadline : run.deadline + verdict_grace);
    if (peer.broken_since && !run.expiry_reported) duties_.expect(*peer.broken_since + broken_link_grace);
    if (stalled && !asked[static_cast<std::size_t>(run.peer)]) {
      asked[static_cast<std::size_t>(run.peer)] = true;
      message_trouble(Trouble::Kind::Stalled, run, "");
    }
  }
}

void Executor::message_trouble(Trouble::Kind kind, const MessageRun& run, std::string reason) {
  std::string text = run.communicator->text_of(run);
  if (!reason.empty()) text += "; " + reason;
  message_trouble(kind, *run.communicator, {.source = run.peer, .tag = run.tag}, std::move(text));
}

void Executor::message_trouble(Trouble::Kind kind, Client& communicator, const MessageName& name, std::string text) {
  Trouble report = communicator.trouble(kind, name.tag, std::move(text));
  report.name = fmt::format("a message with tag {} between ranks {} and {}", name.tag, rank_, name.source);
  report.peer = name.source;
  trouble(communicator, std::move(report));
}

}  // namespace lacuna::runtime
