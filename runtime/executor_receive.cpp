#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/reduce.hpp"
#include "runtime/communicator.hpp"
#include "runtime/executor.hpp"
#include "runtime/log.hpp"

namespace lacuna::runtime {

// Everything in this file may run inside the transport's progress: it neither sends nor fetches, but asks for it.

std::optional<MessageHeader> Executor::read_header(Rank from, std::span<const std::byte> bytes) {
  record_.tick();
  MessageHeader header;
  if (bytes.size() != sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.credits > 0) {
    link(from).credit += header.credits;
    request_pump(from);
  }
  return header;
}

void Executor::on_message(Peer peer, std::span<const std::byte> header_bytes, std::span<const std::byte> bytes) {
  const auto from = static_cast<Rank>(peer);
  const auto header = read_header(from, header_bytes);
  if (!header || header->kind == MessageKind::Credit) return;
  const auto at = place(from, *header, bytes.size());
  if (at && at->landing) {
    Landing& landing = *at->landing;
    if (!landing.memory && header->bytes > 0) {
      landing.memory = blocks_.take(header->bytes);
      tally_.parked_bytes += header->bytes;
    }
    if (!bytes.empty()) std::memcpy(landing.memory + header->offset, bytes.data(), bytes.size());
    landing.pieces.push_back({header->offset, bytes.size()});
    return;
  }
  Link& sender = link(from);
  sender.owed += bytes.size() + fragment_charge;
  if (sender.owed >= options_.credit_bytes / 2) request_pump(from);
  if (at) consume(*at->part, at->step, header->offset, bytes);
}

void Executor::on_descriptor(Peer peer, std::span<const std::byte> header_bytes, Descriptor descriptor) {
  const auto from = static_cast<Rank>(peer);
  const auto header = read_header(from, header_bytes);
  const auto at = header ? place(from, *header, descriptor.bytes) : std::nullopt;
  if (!at) {
    discards_.push_back(descriptor);
  } else if (at->landing) {
    at->landing->descriptors.push_back({header->offset, descriptor});
  } else {
    link(from).fetches.push(at->part->run->call.options.priority, {{at->part, at->step}, header->offset, descriptor});
    request_pump(from);
  }
}

/// The step that takes this message, or the landing where it waits for its step. Nothing if it is to be dropped.
std::optional<Executor::Place> Executor::place(Rank from, const MessageHeader& header, std::size_t bytes) {
  const auto found = std::find_if(communicators_.begin(), communicators_.end(),
                                  [&](const Communicator* c) { return c->id_ == header.communicator; });
  if (found == communicators_.end() || !(*found)->poison_.is_ok()) return std::nullopt;
  Communicator& communicator = **found;
  if (communicator.group_.rank_of(from) < 0) {
    violation(communicator, from, header, "not that rank among its members");
    return std::nullopt;
  }
  const bool inside = header.offset <= header.bytes && bytes <= header.bytes - header.offset;
  const bool whole_units = header.offset % 64 == 0 && (bytes % 64 == 0 || header.offset + bytes == header.bytes);
  if (!inside || !whole_units) {
    violation(communicator, from, header, "no such place in it");
    return std::nullopt;
  }
  if (header.kind == MessageKind::Message) return place_message(communicator, from, header, bytes);
  Run* run = communicator.find(header.run);
  if (run && run->digest != header.digest) {
    trouble(communicator, Trouble::Kind::Mismatch, header.run,
            fmt::format("rank {} asked for something else than rank {}", from, rank_));
    return std::nullopt;
  }
  const bool to_come =
      run ? header.part >= run->next_part : static_cast<std::int32_t>(header.run - communicator.next_run_) >= 0;
  if (to_come) {
    Landing* landing = early_landing(communicator, from, header);
    if (landing->bytes == header.bytes) return Place{.landing = landing};
    violation(communicator, from, header, fmt::format("a message of {} bytes of that name", landing->bytes));
    return std::nullopt;
  }
  ActivePart* part = run ? run->find(header.part) : nullptr;
  if (part) return place_in_part(*part, from, header, bytes);
  violation(communicator, from, header, "ended that part");
  return std::nullopt;
}

std::optional<Executor::Place> Executor::place_in_part(ActivePart& part, Rank from, const MessageHeader& header,
                                                       std::size_t bytes) {
  const auto step = part.graph->receiver(part.distance_of(from), header.index);
  if (!step) {
    violation(*part.run->communicator, from, header, "no step that receives it");
    return std::nullopt;
  }
  StepState& state = part.states[*step];
  if (!state.started) {
    if (!state.landing) state.landing = new_landing(from, header);
    if (state.landing->bytes == header.bytes) return Place{.landing = state.landing};
  } else if (!state.ended && accepts(part, *step, header.bytes) && bytes <= state.bytes - state.consumed) {
    return Place{.part = &part, .step = *step};
  }
  violation(*part.run->communicator, from, header,
            fmt::format("a step that expects {}{} bytes", state.told ? "at most " : "",
                        state.started ? state.bytes : state.landing->bytes));
  return std::nullopt;
}

Landing* Executor::early_landing(Communicator& communicator, Rank from, const MessageHeader& header) {
  auto& early = communicator.early(header.run);
  const auto same = std::find_if(early.begin(), early.end(), [&](const Landing* landing) {
    return landing->run == header.run && landing->part == header.part && landing->source == from &&
           landing->index == header.index;
  });
  if (same != early.end()) return *same;
  early.push_back(new_landing(from, header));
  return early.back();
}

Landing* Executor::new_landing(Rank from, const MessageHeader& header) {
  Landing* landing = landings_.take();
  landing->source = from;
  landing->run = header.run;
  landing->part = header.part;
  landing->index = header.index;
  landing->digest = header.digest;
  landing->dtype = header.dtype;
  landing->bytes = header.bytes;
  ++tally_.parked_messages;
  return landing;
}

void Executor::violation(Communicator& communicator, Rank from, const MessageHeader& header, std::string_view what) {
  const std::string message = header.kind == MessageKind::Message ? fmt::format("a message with tag {}", header.run)
                                                                  : fmt::format("message {} of part {} of call {}",
                                                                                header.index, header.part, header.run);
  trouble(communicator, Trouble::Kind::Mismatch, header.run,
          fmt::format("rank {} sent {} ({} bytes at {}) to rank {}, which has {}", from, message, header.bytes,
                      header.offset, rank_, what));
}

void Executor::adopt_early_messages(ActivePart& part) {
  Communicator& communicator = *part.run->communicator;
  auto& early = communicator.early(part.run->number);
  for (std::size_t i = 0; i < early.size();) {
    Landing* landing = early[i];
    if (landing->run != part.run->number || landing->part != part.number) {
      ++i;
      continue;
    }
    early[i] = early.back();
    early.pop_back();
    const auto step = part.graph->receiver(part.distance_of(landing->source), landing->index);
    if (landing->digest != part.run->digest || !step) {
      trouble(communicator, Trouble::Kind::Mismatch, part.run->number,
              fmt::format("rank {} asked for something else than rank {}", landing->source, rank_));
      release_landing(landing);
    } else {
      part.states[*step].landing = landing;
    }
  }
}

void Executor::start_receive(ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  StepState& state = part.states[id];
  const Extent to = resolve(part, step.to);
  state.bytes = to.count * size_of(part.run->call.dtype);
  if (state.bytes == 0 && !sent_when_empty(part, step, step.to)) return complete(part, id);
  state.told = told_length(part, step.to) != nullptr;
  if (state.landing) take_landing(part, id);
}

/// Is a message of so many bytes what the started receive waits for? Where the sender tells the length, it is settled.
bool Executor::accepts(ActivePart& part, StepId id, std::uint64_t bytes) {
  StepState& state = part.states[id];
  const std::size_t width = size_of(part.run->call.dtype);
  if (state.told && bytes <= state.bytes && bytes % width == 0) {
    state.told = false;
    state.bytes = bytes;
    *told_length(part, part.graph->steps()[id].to) = bytes / width;
  }
  return bytes == state.bytes && !state.told;
}

void Executor::take_landing(ActivePart& part, StepId id) {
  Landing* landing = std::exchange(part.states[id].landing, nullptr);
  if (!accepts(part, id, landing->bytes)) {
    trouble(*part.run->communicator, Trouble::Kind::Mismatch, part.run->number,
            fmt::format("rank {} sent {} bytes where rank {} expects {}{}", landing->source, landing->bytes, rank_,
                        part.states[id].told ? "at most " : "", part.states[id].bytes));
    return release_landing(landing);
  }
  for (const auto& waiting : landing->descriptors) {
    link(landing->source)
        .fetches.push(part.run->call.options.priority, {{&part, id}, waiting.offset, waiting.descriptor});
    request_pump(landing->source);
  }
  landing->descriptors.clear();
  // The last piece may end the step, the part and the run: nothing of them is touched after it.
  for (const auto& piece : landing->pieces) {
    consume(part, id, piece.offset, {landing->memory + piece.offset, piece.bytes});
  }
  release_landing(landing);
}

/// Gives a landing's memory back and its eager bytes as credit to the sender.
void Executor::release_landing(Landing* landing) {
  for (const auto& piece : landing->pieces) link(landing->source).owed += piece.bytes + fragment_charge;
  for (const auto& waiting : landing->descriptors) discards_.push_back(waiting.descriptor);
  if (landing->memory) blocks_.give_back(std::exchange(landing->memory, nullptr), landing->bytes);
  landing->pieces.clear();
  landing->descriptors.clear();
  request_pump(landing->source);
  landings_.give_back(landing);
}

void Executor::consume(ActivePart& part, StepId id, std::size_t offset, std::span<const std::byte> bytes) {
  const Step& step = part.graph->steps()[id];
  StepState& state = part.states[id];
  if (!bytes.empty()) {
    std::byte* to = resolve(part, step.to).data + offset;
    const Call& call = part.run->call;
    if (step.kind == StepKind::Receive) {
      if (to != bytes.data()) std::memcpy(to, bytes.data(), bytes.size());
    } else {
      kernels::reduce(call.dtype, call.reduction, scale_of(part, step), to, resolve(part, step.from).data + offset,
                      bytes.data(), bytes.size() / size_of(call.dtype));
    }
  }
  state.consumed += bytes.size();
  if (state.consumed < state.bytes) return;
  record_.add({.bytes = state.bytes,
               .run = part.run->number,
               .step = id,
               .part = static_cast<std::uint16_t>(part.number),
               .peer = static_cast<std::uint16_t>(part.process_at(step.peer)),
               .kind = FlightRecord::Kind::Received});
  complete(part, id);
}

void Executor::start_fetches(Rank peer) {
  Link& from = link(peer);
  while (from.fetching < options_.window_bytes) {
    Fifo<Fetch>* lane = from.fetches.next();
    if (!lane) return;
    ActivePart& part = *lane->front().step.part;
    const Step& step = part.graph->steps()[lane->front().step.step];
    if (step.kind == StepKind::ReceiveReduce && slots_in_use_ == options_.slots) {
      waiting_for_slot_ = true;
      return;
    }
    const Fetch fetch = lane->pop();
    Operation* operation = operations_.take();
    operation->step = fetch.step;
    operation->peer = peer;
    operation->bytes = fetch.descriptor.bytes;
    operation->header.offset = fetch.offset;
    operation->fetch = true;
    operation->slot = nullptr;
    std::byte* to = nullptr;
    if (step.kind == StepKind::ReceiveReduce) {
      to = operation->slot = blocks_.take(operation->bytes);
      ++slots_in_use_;
    } else {
      to = resolve(part, step.to).data + fetch.offset;
    }
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
  link(operation->peer).fetching -= bytes;
  if (end_operation(operation, fetched)) {
    const Region& to = step.part->graph->steps()[step.step].to;
    consume(*step.part, step.step, offset, {slot ? slot : resolve(*step.part, to).data + offset, bytes});
  }
  if (!slot) return;
  blocks_.give_back(slot, bytes);
  --slots_in_use_;
  if (std::exchange(waiting_for_slot_, false)) {
    for (Rank peer = 0; peer < size_; ++peer) request_pump(peer);
  }
}

void Executor::on_complete(Token token, const Status& status) {
  record_.tick();
  auto* operation = static_cast<Operation*>(token);
  if (!status) operation_failed(*operation, status);
  operation->fetch ? end_fetch(operation, status.is_ok()) : end_send(operation, status.is_ok());
}

/// The step of this operation never ends. Who can be asked says why: a death is better told by the watch than by a
/// connection.
void Executor::operation_failed(const Operation& operation, const Status& status) {
  if (!operation.step.part || operation.step.part->run->finished) return;
  const Status told(Code::PeerFailed,
                    fmt::format("{} rank {} failed: {}", operation.fetch ? "fetching from" : "sending to",
                                operation.peer, status.message()));
  if (reporter_) return on_peer_failure(static_cast<Peer>(operation.peer), told);
  failures_.emplace_back(operation.step.part->run->communicator, told);
}

void Executor::on_peer_failure(Peer peer, const Status& status) {
  Link& broken = link(static_cast<Rank>(peer));
  if (broken.broken_since) return;
  broken.broken_since = Clock::now();
  broken.broken = status;
  log_info(Subsystem::Transport, "the connection to rank {} broke: {}", peer, status.message());
}

}  // namespace lacuna::runtime
