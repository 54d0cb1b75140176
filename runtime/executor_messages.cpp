#include <fmt/format.h>

#include "runtime/communicator.hpp"
#include "runtime/executor.hpp"

namespace lacuna::runtime {
namespace {

constexpr Region whole(Buffer buffer) { return {.buffer = buffer, .slot = 0, .of = 1, .begin = 0, .end = 1}; }

std::shared_ptr<const Graph> graph_of(const Step& step) {
  const GraphShape shape{.collective = message_call};
  return std::make_shared<const Graph>(shape, false, std::vector{step}, std::span<const Graph::Edge>());
}

/// Ok, or why this receive can't take the message.
Status fits(const Run& receive, Rank source, std::uint64_t bytes, Dtype element) {
  if (bytes <= receive.call.count && element == receive.element) return {};
  return {Code::Mismatch,
          fmt::format("the message from rank {} with tag {} has {} elements of {}; the receive takes at most {} of {}",
                      source, receive.number, bytes / size_of(element), to_string(element),
                      receive.call.count / size_of(receive.element), to_string(receive.element))};
}

}  // namespace

MessageGraphs::MessageGraphs()
    : send(graph_of({.kind = StepKind::Send, .to = {}, .from = whole(Buffer::Input)})),
      receive(graph_of({.kind = StepKind::Receive, .to = whole(Buffer::Output), .from = {}})) {}

void Executor::begin_message(Run& run) {
  record_.tick();
  run.posted = record_.ticks();
  record_.add({.run = run.number, .kind = FlightRecord::Kind::Posted});
  if (tracer_) tracer_->call_posted(run);
  if (run.kind == RunKind::Send) {
    start(activate_message(run), 0);
  } else if (Landing* message = run.communicator->mailbox_.take_unexpected(run.peer, run.number)) {
    receive_landed(run, message);
  } else {
    run.communicator->mailbox_.add_receive(run);
  }
  settle();
}

/// The one part of a message, whose length is known by now.
ActivePart& Executor::activate_message(Run& run) {
  ActivePart& part = add_part(run);
  part.order = {part.group->size(), part.group->rank_of(run.peer)};
  part.position = 0;
  part.graph = run.kind == RunKind::Send ? message_graphs_.send : message_graphs_.receive;
  part.offset = 0;
  part.count = run.call.count;
  prepare(part);
  return part;
}

/// A message that has arrived, in part at least, meets its receive.
void Executor::receive_landed(Run& run, Landing* message) {
  const Status fit = fits(run, message->source, message->bytes, message->dtype);
  run.communicator->mailbox_.hand_over(*message, fit ? &run : nullptr);
  if (!fit) {
    release_landing(message);
    return finish_run(run, fit);
  }
  run.call.count = message->bytes;
  run.digest = message->digest;
  ActivePart& part = activate_message(run);
  part.states[0].landing = message;
  start(part, 0);
}

std::optional<Executor::Place> Executor::place_message(Communicator& communicator, Rank from,
                                                       const MessageHeader& header, std::size_t bytes) {
  Mailbox& mailbox = communicator.mailbox_;
  const MessageName name{from, header.run, header.digest};
  Mailbox::Arriving* known = mailbox.arriving(name);
  if (!known) return place_first(communicator, name, header, bytes);
  if (bytes > known->missing || header.bytes != known->bytes) {
    violation(communicator, from, header, "all of it");
    return std::nullopt;
  }
  known->missing -= bytes;
  const Mailbox::Arriving message = *known;
  if (known->missing == 0) mailbox.end_arriving(*known);
  if (message.receive) return Place{.part = message.receive->active.front().get(), .step = 0};
  if (message.landing) return Place{.landing = message.landing};
  return std::nullopt;
}

/// What is seen first of a message decides who takes it, unless it has overtaken another one.
std::optional<Executor::Place> Executor::place_first(Communicator& communicator, const MessageName& name,
                                                     const MessageHeader& header, std::size_t bytes) {
  Mailbox& mailbox = communicator.mailbox_;
  const bool in_turn = mailbox.take_turn(name);
  Run* receive = in_turn ? mailbox.take_receive(name.source, name.tag) : nullptr;
  Landing* landing = receive ? nullptr : new_landing(name.source, header);
  const Status fit = receive ? fits(*receive, name.source, header.bytes, header.dtype) : Status();
  if (bytes < header.bytes) {
    mailbox.add_arriving({name, header.bytes, header.bytes - bytes, fit ? receive : nullptr, landing});
  }
  if (landing) in_turn ? mailbox.add_unexpected(landing) : mailbox.hold(landing);
  Place place{.landing = landing};
  if (receive && fit) {
    receive->call.count = header.bytes;
    receive->digest = header.digest;
    place.part = &activate_message(*receive);
    start(*place.part, 0);
  } else if (receive) {
    finish_run(*receive, fit);
  }
  if (in_turn) deliver_held(communicator, name);
  if (!place.part && !place.landing) return std::nullopt;
  return place;
}

/// Messages that had overtaken this one may meet their receives now.
void Executor::deliver_held(Communicator& communicator, const MessageName& name) {
  Mailbox& mailbox = communicator.mailbox_;
  while (Landing* next = mailbox.take_held(name.source, name.tag)) {
    mailbox.take_turn({next->source, next->run, next->digest});
    if (Run* receive = mailbox.take_receive(next->source, next->run)) {
      receive_landed(*receive, next);
    } else {
      mailbox.add_unexpected(next);
    }
  }
}

void Executor::check_messages(Communicator& communicator, Clock::time_point now, bool stalled) {
  std::vector<bool> asked(stalled ? links_.size() : 0);
  for (std::size_t i = communicator.messages_.size(); i-- > 0;) {  // ending one moves the last to its place
    Run& run = *communicator.messages_[i];
    const Link& peer = link(run.peer);
    const bool unmet = run.kind == RunKind::Receive && run.active.empty();
    if (now >= run.deadline && unmet) {
      const std::string text = communicator.text_of(run);
      communicator.mailbox_.forget_receive(run);
      finish_run(run, {Code::TimedOut, fmt::format("the deadline has passed on rank {}: {}", rank_, text)});
      continue;
    }
    const bool broken = peer.broken_since && now >= *peer.broken_since + broken_link_grace;
    if (!run.expiry_reported && (now >= run.deadline || broken)) {
      run.expiry_reported = true;
      message_trouble(Trouble::Kind::Expired, run,
                      broken ? fmt::format("the connection broke ({})", peer.broken.message()) : "");
    }
    if (now >= run.deadline + verdict_grace) {
      failures_.emplace_back(&communicator, Status(Code::TimedOut, communicator.text_of(run)));
    }
    if (stalled && !asked[static_cast<std::size_t>(run.peer)]) {
      asked[static_cast<std::size_t>(run.peer)] = true;
      message_trouble(Trouble::Kind::Stalled, run, "");
    }
  }
}

/// Only the peer is asked about a message, and only whether it is still there: no call has this number.
void Executor::message_trouble(Trouble::Kind kind, const Run& run, std::string reason) {
  Communicator& communicator = *run.communicator;
  std::string text = communicator.text_of(run);
  if (!reason.empty()) text += "; " + reason;
  const std::uint64_t ranks = static_cast<std::uint64_t>(run.peer) << 32 | static_cast<std::uint32_t>(rank_);
  trouble(communicator,
          {.kind = kind,
           .communicator = Digest().add(communicator.id_).add(ranks).value(),
           .run = run.number,
           .text = std::move(text),
           .members = {run.peer},
           .name = fmt::format("a message with tag {} between ranks {} and {}", run.number, rank_, run.peer)});
}

}  // namespace lacuna::runtime
