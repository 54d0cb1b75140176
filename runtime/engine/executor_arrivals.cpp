#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/values/count_of.hpp"

// What the transport brings: headers are read, and each message finds out where it belongs. Everything here may run
// inside the transport's progress. It neither sends nor fetches, but asks for it.
namespace lacuna::runtime {

std::optional<MessageHeader> Executor::read_header(Rank from, std::span<const std::byte> bytes) {
  record_.tick();
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
void Executor::take_credits(Rank from, std::uint64_t credits) {
  Link& to = links_[from];
  const auto more = static_cast<std::int64_t>(credits - to.returned);
  if (more <= 0) return;
  const std::int64_t spent = static_cast<std::int64_t>(options_.credit_bytes) - to.credit;
  if (more > spent) {
    return distrust(from, fmt::format("rank {} returned {} of credit, more than the {} in use", from,
                                      count_of(more, "byte"), spent));
  }
  to.returned = credits;
  to.credit += more;
  links_.request_pump(from);
}

/// What a peer says can't be right, and nobody knows which call it means. So calls end as if its connection had broken.
void Executor::distrust(Rank from, std::string what) {
  on_peer_failure(static_cast<Peer>(from), {Code::Transport, std::move(what)});
}

void Executor::on_message(Peer peer, std::span<const std::byte> header_bytes, std::span<const std::byte> bytes) {
  failures_.serve(nullptr, [&] {
    const auto from = static_cast<Rank>(peer);
    const auto header = read_header(from, header_bytes);
    if (!header || header->kind == MessageKind::Credit) return;
    if (header->kind == MessageKind::Statement) return hear_statement(from, *header, bytes);
    Client* const communicator = addressee(*header);
    if (!communicator) return incoming_.give_credit(from, bytes.size());
    failures_.serve(communicator, [&] { take_eager(*communicator, {from, *header, bytes.size(), true}, bytes); });
  });
}

/// Takes an eager fragment. A duplicate changes nothing. It returns no credit, as its sender was charged once.
void Executor::take_eager(Client& communicator, const Arrival& message, std::span<const std::byte> bytes) {
  const std::size_t offset = message.header.offset;
  const Place at = place(communicator, message);
  if (at.duplicate) return;
  if (at.landing) return landings_.keep(*at.landing, offset, bytes);
  bool is_held = false;
  if (at.part) {
    failures_.guard([&] {
      is_held = incoming_.take({at.part, at.step}, offset, bytes, {.is_lent = true, .sender = message.from});
    });
  }
  if (!is_held) incoming_.give_credit(message.from, bytes.size());
}

void Executor::on_descriptor(Peer peer, std::span<const std::byte> header_bytes, Descriptor descriptor) {
  const auto from = static_cast<Rank>(peer);
  std::optional<MessageHeader> header;
  Client* communicator = nullptr;
  failures_.serve(nullptr, [&] {
    header = read_header(from, header_bytes);
    if (header) communicator = addressee(*header);
  });
  failures_.serve(communicator, [&] {
    const bool kept =
        communicator && take_descriptor(*communicator, {from, *header, descriptor.bytes, false}, descriptor);
    if (!kept) discards_.push_back(descriptor);
  });
}

/// Returns false if nobody wants the descriptor. It also returns false, after a report, if too many of the peer's
/// descriptors wait here.
bool Executor::take_descriptor(Client& communicator, const Arrival& message, Descriptor descriptor) {
  const Place at = place(communicator, message);
  const std::size_t offset = message.header.offset;
  if (at.part) {
    incoming_.take({at.part, at.step}, offset, descriptor);
    return true;
  }
  if (!at.landing) return false;
  if (landings_.keep(*at.landing, offset, descriptor)) return true;
  violation(communicator, message,
            communicator.matching().text_of_violation(
                message,
                fmt::format("{} waiting from that rank already", count_of(links_[message.from].offered, "message"))));
  return false;
}

/// Returns the communicator for which a message is. Null: it has ended or failed, so that nobody takes the message.
Client* Executor::addressee(const MessageHeader& header) const {
  Client* const found = communicators_.find(header.communicator);
  return !found || found->has_failed() || failures_.is_doomed(*found) ? nullptr : found;
}

/// Returns where a message belongs. If the message meets a receive that waits, the receive has begun or ended when this
/// returns.
Place Executor::place(Client& communicator, const Arrival& message) {
  Place place = communicator.matching().place(message);
  if (place.duplicate) ++tally_.duplicate_fragments;
  if (!place.violation.empty()) violation(communicator, message, std::string(place.violation));
  if (place.receive || place.in_turn) receive_first(communicator, place, message);
  return place;
}

void Executor::violation(Client& communicator, const Arrival& message, std::string text) {
  const MessageHeader& header = message.header;
  if (header.kind != MessageKind::Message) {
    return failures_.report(communicator, Trouble::Kind::Mismatch, header.run, std::move(text));
  }
  failures_.report_message(communicator, Trouble::Kind::Mismatch, {.source = message.from, .tag = header.run},
                           std::move(text));
}

void Executor::adopt_early_messages(ActivePart& part) {
  Client& communicator = *part.run->communicator;
  const std::string_view violation = communicator.matching().adopt(part);
  if (violation.empty()) return;
  failures_.report(communicator, Trouble::Kind::Mismatch, collective_of(part).number, std::string(violation));
}

/// Refuses messages for parts that would follow this one: nothing follows it, so that nobody may have sent any.
void Executor::refuse_early_messages(const ActivePart& part) {
  Client& communicator = *part.run->communicator;
  const std::string_view violation = communicator.matching().refuse_after(part);
  if (violation.empty()) return;
  failures_.report(communicator, Trouble::Kind::Mismatch, collective_of(part).number, std::string(violation));
}

void Executor::on_complete(Token token, const Status& status) {
  record_.tick();
  auto* operation = static_cast<Operation*>(token);
  Client* const communicator = operation->step.part ? operation->step.part->run->communicator : nullptr;
  failures_.serve(communicator, [&] {
    if (!status) operation_failed(*operation, status);
    const bool well = status.is_ok() && !(communicator && failures_.is_doomed(*communicator));
    operation->fetch ? incoming_.end(*operation, well) : outgoing_.end(*operation, well);
  });
}

/// The step of this operation never ends. The watch is asked why if there is one, as it knows better than a connection
/// whether a peer has died.
void Executor::operation_failed(const Operation& operation, const Status& status) {
  if (!operation.step.part || operation.step.part->run->finished) return;
  const Status told(Code::PeerFailed,
                    fmt::format("{} rank {} failed: {}", operation.fetch ? "fetching from" : "sending to",
                                operation.peer, status.message()));
  if (failures_.reporter()) return on_peer_failure(static_cast<Peer>(operation.peer), told);
  failures_.fail(*operation.step.part->run->communicator, told);
}

void Executor::on_peer_failure(Peer peer, const Status& status) {
  deadlines_.note_broken(static_cast<Rank>(peer), status);
}

}  // namespace lacuna::runtime
