#include "runtime/engine/arrivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/engine/client.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::runtime {

std::optional<MessageHeader> Arrivals::read_header(Rank from, std::span<const std::byte> bytes) {
  engine_.record.tick();
  MessageHeader header;
  if (bytes.size() != sizeof header) {
    distrust(from, fmt::format("rank {} sent a header of {}, must be {}", from, count_of(bytes.size(), "byte"),
                               sizeof header));
    return std::nullopt;
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  take_credits(from, header.credits);
  return header;
}

/// Takes back the credit that the peer returns.
void Arrivals::take_credits(Rank from, std::uint64_t credits) {
  Link& to = engine_.links[from];
  const auto more = static_cast<std::int64_t>(credits - to.returned);
  if (more <= 0) return;
  const std::int64_t spent = static_cast<std::int64_t>(engine_.credit_bytes) - to.credit;
  if (more > spent) {
    return distrust(from, fmt::format("rank {} returned {} of credit, more than the {} in use", from,
                                      count_of(more, "byte"), spent));
  }
  to.returned = credits;
  to.credit += more;
  engine_.links.request_pump(from);
}

/// What a peer says can't be right, and nobody knows which call it means. So calls end as if its connection had broken.
void Arrivals::distrust(Rank from, std::string what) {
  on_peer_failure(static_cast<Peer>(from), {Code::Transport, std::move(what)});
}

void Arrivals::on_message(Peer peer, std::span<const std::byte> header_bytes, std::span<const std::byte> bytes) {
  engine_.failures.serve(nullptr, [&] {
    const auto from = static_cast<Rank>(peer);
    const auto header = read_header(from, header_bytes);
    if (!header || header->kind == MessageKind::Credit) return;
    if (header->kind == MessageKind::Statement) return engine_.statements.hear(from, *header, bytes);
    Client* const communicator = addressee(*header);
    if (!communicator) return engine_.scheduler.incoming().give_credit(from, bytes.size());
    engine_.failures.serve(communicator, [&] {
      take_eager(*communicator, {from, *header, bytes.size(), true}, bytes);
    });
  });
}

/// Takes an eager fragment. A duplicate changes nothing. It returns no credit, as its sender was charged once.
void Arrivals::take_eager(Client& communicator, const Arrival& message, std::span<const std::byte> bytes) {
  const std::size_t offset = message.header.offset;
  const Place at = place(communicator, message);
  if (at.duplicate) return;
  if (at.landing) return engine_.landings.keep(*at.landing, offset, bytes);
  bool is_held = false;
  if (at.part) {
    engine_.failures.guard([&] {
      is_held = engine_.scheduler.incoming().take({at.part, at.step}, offset, bytes,
                                                  {.is_lent = true, .sender = message.from});
    });
  }
  if (!is_held) engine_.scheduler.incoming().give_credit(message.from, bytes.size());
}

void Arrivals::on_descriptor(Peer peer, std::span<const std::byte> header_bytes, Descriptor descriptor) {
  const auto from = static_cast<Rank>(peer);
  std::optional<MessageHeader> header;
  Client* communicator = nullptr;
  engine_.failures.serve(nullptr, [&] {
    header = read_header(from, header_bytes);
    if (header) communicator = addressee(*header);
  });
  engine_.failures.serve(communicator, [&] {
    const bool kept =
        communicator && take_descriptor(*communicator, {from, *header, descriptor.bytes, false}, descriptor);
    if (!kept) engine_.discards.push_back(descriptor);
  });
}

/// Returns false if nobody wants the descriptor. It also returns false, after a report, if too many of the peer's
/// descriptors wait here.
bool Arrivals::take_descriptor(Client& communicator, const Arrival& message, Descriptor descriptor) {
  const Place at = place(communicator, message);
  const std::size_t offset = message.header.offset;
  if (at.part) {
    engine_.scheduler.incoming().take({at.part, at.step}, offset, descriptor);
    return true;
  }
  if (!at.landing) return false;
  if (engine_.landings.keep(*at.landing, offset, descriptor)) return true;
  violation(communicator, message,
            communicator.matching().text_of_violation(
                message, fmt::format("{} waiting from that rank already",
                                     count_of(engine_.links[message.from].offered, "message"))));
  return false;
}

/// Returns the communicator for which a message is. Null: it has ended or failed, so that nobody takes the message.
Client* Arrivals::addressee(const MessageHeader& header) const {
  Client* const found = engine_.communicators.find(header.communicator);
  return !found || found->has_failed() || engine_.failures.is_doomed(*found) ? nullptr : found;
}

/// Returns where a message belongs. If the message meets a receive that waits, the receive has begun or ended when this
/// returns.
Place Arrivals::place(Client& communicator, const Arrival& message) {
  Place place = communicator.matching().place(message);
  if (place.duplicate) ++duplicate_fragments_;
  if (!place.violation.empty()) violation(communicator, message, std::string(place.violation));
  if (place.receive || place.in_turn) engine_.scheduler.receive(communicator, place, message);
  return place;
}

void Arrivals::violation(Client& communicator, const Arrival& message, std::string text) {
  const MessageHeader& header = message.header;
  if (header.kind != MessageKind::Message) {
    return engine_.failures.report(communicator, Trouble::Kind::Mismatch, header.run, std::move(text));
  }
  engine_.failures.report_message(communicator, Trouble::Kind::Mismatch, {.source = message.from, .tag = header.run},
                                  std::move(text));
}

void Arrivals::on_complete(Token token, const Status& status) {
  engine_.record.tick();
  auto* operation = static_cast<Operation*>(token);
  Client* const communicator = operation->step.part ? operation->step.part->run->communicator : nullptr;
  engine_.failures.serve(communicator, [&] {
    if (!status) operation_failed(*operation, status);
    const bool well = status.is_ok() && !(communicator && engine_.failures.is_doomed(*communicator));
    operation->fetch ? engine_.scheduler.incoming().end(*operation, well)
                     : engine_.scheduler.outgoing().end(*operation, well);
  });
}

/// The step of this operation never ends. The watch is asked why if there is one, as it knows better than a connection
/// whether a peer has died.
void Arrivals::operation_failed(const Operation& operation, const Status& status) {
  if (!operation.step.part || operation.step.part->run->finished) return;
  const Status told(Code::PeerFailed,
                    fmt::format("{} rank {} failed: {}", operation.fetch ? "fetching from" : "sending to",
                                operation.peer, status.message()));
  if (engine_.failures.reporter()) return on_peer_failure(static_cast<Peer>(operation.peer), told);
  engine_.failures.fail(*operation.step.part->run->communicator, told);
}

void Arrivals::on_peer_failure(Peer peer, const Status& status) {
  engine_.deadlines.note_broken(static_cast<Rank>(peer), status);
}

}  // namespace lacuna::runtime
