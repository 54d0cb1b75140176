#include <fmt/format.h>

#include "runtime/communicator/communicator.hpp"
#include "runtime/engine/executor.hpp"

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
  serving_ = run.communicator;
  guarded([&] {
    if (run.kind == RunKind::Send) {
      start(activate_message(run), 0);
    } else if (Landing* message = run.communicator->mailbox_.take_unexpected(run.peer, run.number)) {
      receive_landed(run, message);
    } else {
      run.communicator->mailbox_.add_receive(run);
    }
  });
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

/// Finds a place for a landing that nobody has: it is released if there is no memory for that.
template <class Body>
void Executor::with(Landing* landing, Body body) {
  try {
    body();
  } catch (...) {
    if (landing) release_landing(landing);
    throw;
  }
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
  ActivePart* part = nullptr;
  with(message, [&] { part = &activate_message(run); });
  part->states[0].landing = message;
  start(*part, 0);
}

std::optional<Executor::Place> Executor::place_message(Communicator& communicator, const Arrival& message) {
  Mailbox& mailbox = communicator.mailbox_;
  const MessageName name{message.from, message.header.run, message.header.digest};
  if (Mailbox::Arriving* known = mailbox.arriving(name)) return place_rest(communicator, message, *known);
  const std::int32_t ahead = mailbox.ahead(name);
  if (ahead < 0 || (ahead > 0 && mailbox.holds(name))) return duplicate();
  if (ahead > furthest_call) {
    violation(communicator, message, fmt::format("no room for what is {} messages ahead", ahead));
    return std::nullopt;
  }
  return place_first(communicator, message);
}

std::optional<Executor::Place> Executor::place_rest(Communicator& communicator, const Arrival& message,
                                                    Mailbox::Arriving& known) {
  if (message.header.bytes != known.bytes) {
    violation(communicator, message, fmt::format("a message of {} bytes of that name", known.bytes));
    return std::nullopt;
  }
  if (known.landing && !is_like(communicator, message, *known.landing)) return std::nullopt;
  Place place{.landing = known.landing};
  if (known.receive) place.part = known.receive->active.front().get();
  const auto admitted = admit(communicator, message, known.arrived, place);
  if (known.arrived.all(known.bytes)) communicator.mailbox_.end_arriving(known);
  return admitted && !admitted->part && !admitted->landing && !admitted->duplicate ? std::nullopt : admitted;
}

/// What is seen first of a message decides who takes it, unless it has overtaken another one.
std::optional<Executor::Place> Executor::place_first(Communicator& communicator, const Arrival& message) {
  const MessageHeader& header = message.header;
  const MessageName name{message.from, header.run, header.digest};
  Mailbox& mailbox = communicator.mailbox_;
  const bool in_turn = mailbox.take_turn(name);
  Run* receive = in_turn ? mailbox.take_receive(name.source, name.tag) : nullptr;
  Landing* landing = receive ? nullptr : park(communicator, message);
  if (!receive && !landing) return std::nullopt;
  const Status fit = receive ? fits(*receive, name.source, header.bytes, header.dtype) : Status();
  with(landing, [&] {
    if (message.bytes < header.bytes) {
      Mailbox::Arriving& rest = mailbox.add_arriving(name, header.bytes);
      rest.arrived.add(header.offset, header.offset + message.bytes);
      rest.receive = fit ? receive : nullptr;
      rest.landing = landing;
    }
    if (landing) in_turn ? mailbox.add_unexpected(landing) : mailbox.hold(landing);
  });
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
  const auto& messages = communicator.runs_.messages();
  for (std::size_t i = messages.size(); i-- > 0;) {  // ending one moves the last to its place
    Run& run = *messages[i];
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
      message_trouble(broken ? Trouble::Kind::Broken : Trouble::Kind::Expired, run,
                      broken ? fmt::format("the connection broke ({})", peer.broken.message()) : "");
    }
    if (now >= run.deadline + verdict_grace) {
      failures_.emplace_back(&communicator, Status(Code::TimedOut, communicator.text_of(run)));
    }
    expect_duty(unmet || !run.expiry_reported ? run.deadline : run.deadline + verdict_grace);
    if (peer.broken_since && !run.expiry_reported) expect_duty(*peer.broken_since + broken_link_grace);
    if (stalled && !asked[static_cast<std::size_t>(run.peer)]) {
      asked[static_cast<std::size_t>(run.peer)] = true;
      message_trouble(Trouble::Kind::Stalled, run, "");
    }
  }
}

void Executor::message_trouble(Trouble::Kind kind, const Run& run, std::string reason) {
  std::string text = run.communicator->text_of(run);
  if (!reason.empty()) text += "; " + reason;
  message_trouble(kind, *run.communicator, {.source = run.peer, .tag = run.number}, std::move(text));
}

void Executor::message_trouble(Trouble::Kind kind, Communicator& communicator, const MessageName& name,
                               std::string text) {
  trouble(communicator,
          {.kind = kind,
           .communicator = communicator.id_,
           .run = name.tag,
           .text = std::move(text),
           .members = communicator.members_to_tell(),
           .name = fmt::format("a message with tag {} between ranks {} and {}", name.tag, rank_, name.source),
           .peer = name.source});
}

}  // namespace lacuna::runtime
