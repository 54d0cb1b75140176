#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <new>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::runtime {

// All functions in this file may run inside the transport's progress. So they do not send or fetch, but ask for a pump.

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

// A duplicate changes nothing. It returns no credit, as its sender was charged once.
void Executor::on_message(Peer peer, std::span<const std::byte> header_bytes, std::span<const std::byte> bytes) {
  serving_ = nullptr;
  guarded([&] {
    const auto from = static_cast<Rank>(peer);
    const auto header = read_header(from, header_bytes);
    if (!header || header->kind == MessageKind::Credit) return;
    if (header->kind == MessageKind::Statement) return hear_statement(from, *header, bytes);
    const Place at = place({from, *header, bytes.size(), true});
    if (at.duplicate) return;
    if (at.landing) return landings_.keep(*at.landing, header->offset, bytes);
    bool is_held = false;
    if (at.part) {
      guarded([&] { is_held = consume(*at.part, at.step, header->offset, bytes, {.is_lent = true, .sender = from}); });
    }
    if (!is_held) give_credit(from, bytes.size());
  });
}

/// Gives credit for an eager fragment of so many bytes that has been consumed.
void Executor::give_credit(Rank sender, std::size_t bytes) {
  Link& from = links_[sender];
  from.consumed += bytes + fragment_charge;
  if (from.owed() >= credit_threshold_) links_.request_pump(sender);
}

void Executor::on_descriptor(Peer peer, std::span<const std::byte> header_bytes, Descriptor descriptor) {
  bool kept = false;
  serving_ = nullptr;
  guarded([&] {
    const auto from = static_cast<Rank>(peer);
    const auto header = read_header(from, header_bytes);
    if (header) kept = take_descriptor({from, *header, descriptor.bytes, false}, descriptor);
  });
  if (!kept) guarded([&] { discards_.push_back(descriptor); });
}

/// Returns false if nobody wants the descriptor. It also returns false, after a report, if too many of the peer's
/// descriptors wait here.
bool Executor::take_descriptor(const Arrival& message, Descriptor descriptor) {
  const Place at = place(message);
  const std::size_t offset = message.header.offset;
  Link& sender = links_[message.from];
  if (at.part) {
    links_.request_pump(message.from);
    sender.fetches.push(at.part->run->call.options.priority, {{at.part, at.step}, offset, descriptor});
    return true;
  }
  if (!at.landing) return false;
  if (landings_.keep(*at.landing, offset, descriptor)) return true;
  violation(*serving_, message,
            serving_->matching().text_of_violation(
                message, fmt::format("{} waiting from that rank already", count_of(sender.offered, "message"))));
  return false;
}

/// Returns where a message belongs. If the message meets a receive that waits, the receive has begun or ended when this
/// returns.
Place Executor::place(const Arrival& message) {
  Client* const client = communicators_.find(message.header.communicator);
  if (!client || client->has_failed() || is_doomed(*client)) return {};
  serving_ = client;
  Place place = serving_->matching().place(message);
  if (place.duplicate) ++tally_.duplicate_fragments;
  if (!place.violation.empty()) violation(*serving_, message, std::string(place.violation));
  if (place.receive || place.in_turn) receive_first(place, message);
  return place;
}

void Executor::violation(Client& communicator, const Arrival& message, std::string text) {
  const MessageHeader& header = message.header;
  if (header.kind != MessageKind::Message) {
    return trouble(communicator, Trouble::Kind::Mismatch, header.run, std::move(text));
  }
  message_trouble(Trouble::Kind::Mismatch, communicator, {.source = message.from, .tag = header.run}, std::move(text));
}

void Executor::adopt_early_messages(ActivePart& part) {
  Client& communicator = *part.run->communicator;
  const std::string_view violation = communicator.matching().adopt(part);
  if (violation.empty()) return;
  trouble(communicator, Trouble::Kind::Mismatch, collective_of(part).number, std::string(violation));
}

/// Refuses messages for parts that would follow this one: nothing follows it, so that nobody may have sent any.
void Executor::refuse_early_messages(const ActivePart& part) {
  Client& communicator = *part.run->communicator;
  const std::string_view violation = communicator.matching().refuse_after(part);
  if (violation.empty()) return;
  trouble(communicator, Trouble::Kind::Mismatch, collective_of(part).number, std::string(violation));
}

void Executor::start_receive(ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  StepState& state = part.states[id];
  state.told = is_open(part, step);
  if (lands(part, step)) {
    const PartBuffer& landed = part.buffer(step.to);
    state.bytes = landed.length * size_of(landed.dtype);
  } else {
    state.bytes = resolve(part, step.to).bytes();
  }
  if (state.landing) return take_landing(part, id);
  if (state.bytes > 0 || sent_when_empty(part, step, step.to)) return;
  if (step.to.is_counted()) collective_of(part).unsent.note(part.process_at(step.peer), step.index, part.number);
  complete(part, id);
}

void Executor::take_landing(ActivePart& part, StepId id) {
  Landing* landing = part.states[id].landing;
  if (!accepts(part, id, landing->bytes)) {
    trouble(*part.run->communicator, Trouble::Kind::Mismatch, number_or_tag(*part.run),
            text_of_length(part, id, landing->bytes, landing->source, rank_));
    return landings_.release(std::exchange(part.states[id].landing, nullptr));
  }
  Link& sender = links_[landing->source];
  std::swap(part.states[id].arrived, landing->arrived);
  while (!landing->descriptors.empty()) {
    const auto& [offset, descriptor] = landing->descriptors.back();
    sender.fetches.push(part.run->call.options.priority, {{&part, id}, offset, descriptor});
    landing->descriptors.pop_back();
    --sender.offered;
  }
  part.states[id].landing = nullptr;
  std::byte* const memory = landing->memory;
  const Step& step = part.graph->steps()[id];
  PartBuffer& buffer = part.buffer(step.to);
  if (lands(part, step) && memory && buffer.memory == MemoryKind::Host) {  // it stays where it is
    buffer.data = std::exchange(landing->memory, nullptr);
    buffer.taken = landing->bytes;
  }
  // The last piece may end the step, the part and the run, so that they are not touched after it.
  landing->users = 1;
  guarded([&] {
    for (const auto& piece : landing->pieces) {
      consume(part, id, piece.offset, {memory + piece.offset, piece.bytes}, {.landing = landing});
    }
  });
  end_use(*landing);
}

/// One of the users of the landing's memory does not need it any more.
void Executor::end_use(Landing& landing) {
  if (--landing.users == 0) landings_.release(&landing);
}

/// Returns where a step's bytes will lie in the end. Landed memory is taken when the first byte comes.
std::byte* Executor::place_of(ActivePart& part, const Step& step, const StepState& state) {
  PartBuffer& buffer = part.buffer(step.to);
  if (lands(part, step) && buffer.taken == 0 && state.bytes > 0) {
    buffer.data = memory_.of(buffer.memory).take(state.bytes);
    buffer.taken = state.bytes;
  }
  return resolve(part, step.to).data;
}

/// Takes bytes of a message to where they belong. Returns true if a work does that, which lets go of the holder in the
/// end.
bool Executor::consume(ActivePart& part, StepId id, std::size_t offset, std::span<const std::byte> bytes,
                       const Holder& holder) {
  if (bytes.empty()) {
    note_consumed(part, id, 0);
    return false;
  }
  const Step& step = part.graph->steps()[id];
  std::byte* const to = place_of(part, step, part.states[id]) + offset;
  if (to != bytes.data()) {
    const MemoryKind memory = part.buffer(step.to).memory;
    const Extent from = {const_cast<std::byte*>(bytes.data()), bytes.size(), Dtype::U8, Reduction::Sum,
                         holder.slot ? memory : MemoryKind::Host};  // it is only read
    Computation what{.kind = step.kind, .to = {to, bytes.size(), Dtype::U8, Reduction::Sum, memory}, .from = from};
    if (step.kind == StepKind::ReceiveReduce) {
      what.local = resolve(part, step.from);
      what.local.data += offset;
      what.to.dtype = what.from.dtype = what.local.dtype;
      what.to.count = what.from.count = what.local.count = bytes.size() / size_of(what.local.dtype);
      what.scale = scale_of(part, step);
    }
    if (compute_->takes(what.bytes())) {
      start_work({&part, id}, what, holder);
      return true;
    }
    carry_out(kernels_, what);
  }
  note_consumed(part, id, bytes.size());
  return false;
}

/// Notes that so many bytes of a message lie where they belong.
void Executor::note_consumed(ActivePart& part, StepId id, std::size_t bytes) {
  const Step& step = part.graph->steps()[id];
  StepState& state = part.states[id];
  part.run->received += bytes;
  state.consumed += bytes;
  if (state.consumed < state.bytes) return;
  record_.add({.bytes = state.bytes,
               .run = number_or_tag(*part.run),
               .step = id,
               .part = part.number,
               .peer = static_cast<std::uint16_t>(part.process_at(step.peer)),
               .kind = FlightRecord::Kind::Received});
  complete(part, id);
}

void Executor::start_fetches(Rank peer) {
  Link& from = links_[peer];
  while (from.fetching < options_.window_bytes) {
    Fifo<Fetch>* lane = from.fetches.next();
    if (!lane) return;
    const Fetch fetch = lane->front();
    ActivePart& part = *fetch.step.part;
    serving_ = part.run->communicator;
    const Step& step = part.graph->steps()[fetch.step.step];
    if (step.kind == StepKind::ReceiveReduce && slots_in_use_ == options_.slots) {
      waiting_for_slot_ = true;
      return;
    }
    const MemoryKind memory = part.buffer(step.to).memory;
    std::byte* slot = step.kind == StepKind::ReceiveReduce ? memory_.of(memory).take(fetch.descriptor.bytes) : nullptr;
    std::byte* to = slot ? slot : place_of(part, step, part.states[fetch.step.step]) + fetch.offset;
    Operation* operation = operations_.take();
    static_cast<void>(lane->pop());
    operation->step = fetch.step;
    operation->peer = peer;
    operation->bytes = fetch.descriptor.bytes;
    operation->header.begin_at(fetch.offset);
    operation->fetch = true;
    operation->slot = slot;
    if (slot) ++slots_in_use_;
    from.fetching += operation->bytes;
    ++part.run->operations;
    if (transport_->fetch(fetch.descriptor, to, operation) == Started::Done) end_fetch(operation, true);
  }
}

void Executor::end_fetch(Operation* operation, bool fetched) {
  const StepOf step = operation->step;
  const std::size_t offset = operation->header.offset;
  const std::size_t bytes = operation->bytes;
  std::byte* slot = operation->slot;
  const Region& to = step.part->graph->steps()[step.step].to;
  const MemoryKind memory = step.part->buffer(to).memory;
  links_[operation->peer].fetching -= bytes;
  bool is_held = false;
  if (end_operation(operation, fetched)) {
    guarded([&] {
      const std::byte* const from = slot ? slot : resolve(*step.part, to).data + offset;
      is_held = consume(*step.part, step.step, offset, {from, bytes}, {.slot = slot});
    });
  }
  if (slot && !is_held) give_back_slot(slot, bytes, memory);
}

void Executor::give_back_slot(std::byte* slot, std::size_t bytes, MemoryKind memory) {
  memory_.of(memory).give_back(slot, bytes);
  --slots_in_use_;
  if (std::exchange(waiting_for_slot_, false)) links_.request_pump_of_all();
}

/// Lets go of what held a work's bytes. The work has taken so many of them to where they belong, or its run has failed.
void Executor::release_held(ActivePart& part, StepId id, const Holder& holder, std::size_t bytes) {
  if (holder.landing) end_use(*holder.landing);
  if (holder.slot) give_back_slot(holder.slot, bytes, part.buffer(part.graph->steps()[id].to).memory);
  if (!holder.copy) return;
  memory_.host().give_back(holder.copy, bytes);
  give_credit(holder.sender, bytes);
}

void Executor::on_complete(Token token, const Status& status) {
  record_.tick();
  auto* operation = static_cast<Operation*>(token);
  serving_ = operation->step.part ? operation->step.part->run->communicator : nullptr;
  guarded([&] {
    if (!status) operation_failed(*operation, status);
    const bool well = status.is_ok() && !(serving_ && is_doomed(*serving_));
    operation->fetch ? end_fetch(operation, well) : end_send(operation, well);
  });
}

/// The step of this operation never ends. The watch is asked why if there is one, as it knows better than a connection
/// whether a peer has died.
void Executor::operation_failed(const Operation& operation, const Status& status) {
  if (!operation.step.part || operation.step.part->run->finished) return;
  const Status told(Code::PeerFailed,
                    fmt::format("{} rank {} failed: {}", operation.fetch ? "fetching from" : "sending to",
                                operation.peer, status.message()));
  if (reporter_) return on_peer_failure(static_cast<Peer>(operation.peer), told);
  failures_.emplace_back(operation.step.part->run->communicator, told);
}

void Executor::on_peer_failure(Peer peer, const Status& status) {
  Link& broken = links_[static_cast<Rank>(peer)];
  if (broken.broken_since) return;
  broken.broken_since = options_.time.now();
  broken.broken = status;
  duties_.note_broken(*broken.broken_since + broken_link_grace);
  guarded([&] { log_info(Subsystem::Transport, "the connection to rank {} broke: {}", peer, status.message()); });
}

/// Catches what was thrown below, as the functions of a transport above may be C code. The communicator that was served
/// fails after they have returned.
void Executor::note_thrown() {
  const bool more = thrown_ && thrown_->communicator != serving_;
  thrown_ = {more ? nullptr : serving_, std::current_exception()};
}

void Executor::fail_after_throw() {
  const Thrown thrown = *std::exchange(thrown_, std::nullopt);
  Status status = out_of_memory_;
  try {
    std::rethrow_exception(thrown.what);
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& error) {
    status = {Code::Internal, fmt::format("rank {}: {}", rank_, error.what())};
  }
  for (Client* one : communicators_) {
    if (thrown.communicator && one != thrown.communicator) continue;
    if (reporter_ && one->runs().calls() > 0) {  // so that other ranks need not wait
      trouble(*one, Trouble::Kind::Mismatch, one->runs().next() - 1, status.to_string());
    }
    end_calls(*one, status);
  }
  links_.request_pump_of_all();  // the exception has cut a pump short
}

}  // namespace lacuna::runtime
