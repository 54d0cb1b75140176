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
      refuse_message(*receive, message.from, fit);
    }
  }
  if (!place.in_turn) return;
  while (const auto met = matching.next_met(message.from, header.run)) receive_landed(*met);
}

/// Ends a receive whose message does not fit. If it belongs to an exchange, all ranks learn of it, and here nothing of
/// the communicator goes on.
void Executor::refuse_message(MessageRun& receive, Rank source, const Status& why) {
  if (!is_of_exchange(receive.tag)) return finish_run(receive, why);
  Client& communicator = *receive.communicator;
  message_trouble(Trouble::Kind::Mismatch, communicator, {.source = source, .tag = receive.tag},
                  std::string(why.message()));
  failures_.emplace_back(&communicator, why);
}

void Executor::check_messages(Client& communicator, Clock::time_point now, bool stalled) {
  std::vector<bool> asked(stalled ? links_.size() : 0);
  const auto& messages = communicator.runs().messages();
  for (std::size_t i = messages.size(); i-- > 0;) {  // ending one moves the last to its place
    MessageRun& run = *messages[i];
    const Rank cut_off = find_broken(run);
    const bool unmet = run.kind == RunKind::Receive && run.active.empty();
    if (now >= run.deadline && unmet) {
      const std::string text = communicator.text_of(run);
      communicator.matching().forget(run);
      finish_run(run, {Code::TimedOut, fmt::format("the deadline has passed on rank {}: {}", rank_, text)});
      continue;
    }
    const bool broken = cut_off >= 0 && now >= *links_[cut_off].broken_since + broken_link_grace;
    if (!run.expiry_reported && broken) {
      run.expiry_reported = true;
      message_trouble(Trouble::Kind::Broken, run, cut_off,
                      fmt::format("the connection broke ({})", links_[cut_off].broken.message()));
    } else if (!run.expiry_reported && now >= run.deadline) {
      run.expiry_reported = true;
      message_trouble(Trouble::Kind::Expired, run, run.peer, "");
    }
    if (now >= run.deadline + verdict_grace) {
      failures_.emplace_back(&communicator, Status(Code::TimedOut, communicator.text_of(run)));
    }
    duties_.expect(unmet || !run.expiry_reported ? run.deadline : run.deadline + verdict_grace);
    if (cut_off >= 0 && !run.expiry_reported) duties_.expect(*links_[cut_off].broken_since + broken_link_grace);
    if (run.peer == MessageRun::any_process) continue;  // any other rank may still send
    if (note_lateness(run, now)) {
      log_warning(Subsystem::Executor, "rank {} has waited for rank {} for {} s: {}", rank_, run.peer,
                  std::chrono::round<std::chrono::seconds>(now - run.begun).count(), communicator.text_of(run));
    }
    if (!stalled) continue;
    if (asked[static_cast<std::size_t>(run.peer)]) continue;
    asked[static_cast<std::size_t>(run.peer)] = true;
    message_trouble(Trouble::Kind::Stalled, run, run.peer, "");
  }
}

/// Returns a process that the message needs and to which the connection is broken, or -1. A receive from any rank needs
/// them all.
Rank Executor::find_broken(const MessageRun& run) {
  if (run.peer != MessageRun::any_process) return links_[run.peer].broken_since ? run.peer : -1;
  for (Rank process : run.communicator->group().members()) {
    if (links_[process].broken_since) return process;
  }
  return -1;
}

void Executor::message_trouble(Trouble::Kind kind, const MessageRun& run, Rank peer, std::string reason) {
  std::string text = run.communicator->text_of(run);
  if (!reason.empty()) text += "; " + reason;
  message_trouble(kind, *run.communicator, {.source = peer, .tag = run.tag}, std::move(text));
}

void Executor::message_trouble(Trouble::Kind kind, Client& communicator, const MessageName& name, std::string text) {
  Trouble report = communicator.trouble(kind, name.tag, std::move(text));
  report.name = fmt::format("a message with {} between ranks {} and {}", text_of_tag(name.tag), rank_, name.source);
  report.peer = name.source;
  trouble(communicator, std::move(report));
}

}  // namespace lacuna::runtime
