#include <algorithm>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"

namespace lacuna::runtime {
namespace {

/// Returns the header of a message of so many bytes, without what differs between its fragments.
MessageHeader header_of(const ActivePart& part, const Step& step, std::uint64_t bytes) {
  const Run& run = *part.run;
  MessageHeader header{.communicator = run.communicator->id(),
                       .bytes = bytes,
                       .run = number_or_tag(run),
                       .index = step.index,
                       .digest = part.digest,
                       .part = part.number};
  if (run.kind != RunKind::Collective) {
    header.kind = MessageKind::Message;
    header.dtype = as_message(run).element;
  }
  return header;
}

}  // namespace

void Executor::start_send(ActivePart& part, StepId step) {
  const Step& what = part.graph->steps()[step];
  const Rank peer = part.process_at(what.peer);
  if (device_.stages(*part.run, part.buffer(what.from).memory) && resolve(part, what.from).count > 0) {
    return stage_more(part, step);
  }
  links_[peer].sends.push(part.run->call.options.priority, {.step = {&part, step}});
  start_sends(peer);
}

void Executor::start_sends(Rank peer) {
  Link& to = links_[peer];
  bool goes_on = true;
  while (goes_on && to.on_wire < options_.window_bytes) {
    Fifo<Sending>* lane = to.sends.next();
    if (!lane) return;
    const Sending next = lane->pop();
    goes_on = failures_.serve(next.step.part->run->communicator, [&] { send_message(next); });
  }
}

/// Does the peer read these bytes where they lie? Then they are not copied, whatever credit there is.
bool Executor::is_read_in_place(Rank peer, std::span<const std::byte> bytes) const {
  return bytes.size() >= options_.mapped_bytes && transport_->is_mapped_by(static_cast<Peer>(peer), bytes);
}

/// May a message of so many bytes go eagerly? It may if the peer can take all of it now. Else it goes as descriptors,
/// which need no room at the peer until it fetches the bytes.
bool Executor::may_be_eager(const Link& to, std::size_t bytes) const {
  const std::uint64_t fragments = bytes / fragment_bytes_ + 1;
  const auto charge = static_cast<std::int64_t>(bytes + fragments * fragment_charge);
  if (bytes == 0) return charge <= to.credit + static_cast<std::int64_t>(empty_allowance);
  return bytes <= options_.eager_bytes && charge <= to.credit;
}

/// Begins a message, or goes on with one after some of its ranges have been taken.
void Executor::send_message(const Sending& next) {
  ActivePart& part = *next.step.part;
  const StepId id = next.step.step;
  Stage* const stage = next.stage;
  const Step& step = part.graph->steps()[id];
  StepState& state = part.states[id];
  const Extent extent = resolve(part, step.from);
  const std::size_t bytes = extent.bytes();
  if (bytes == 0 && !sent_when_empty(part, step, step.from)) return complete(part, id);
  const Rank peer = part.process_at(step.peer);
  const std::byte* const begin = stage ? stage->memory - stage->offset : extent.data;
  const std::size_t end = stage ? stage->offset + stage->bytes : bytes;
  const bool is_first = state.given == 0;
  const bool mapped = is_first && !stage && is_read_in_place(peer, {begin, bytes});
  const bool eager = is_first && !mapped && end == bytes && may_be_eager(links_[peer], bytes);
  if (is_first) note_sent(part, id, bytes, eager, mapped);
  do {
    const std::span<const std::byte> rest = {begin + state.given, end - state.given};
    send_range(next.step, rest.first(std::min(rest.size(), eager ? fragment_bytes_ : descriptor_range)), bytes, eager,
               stage);
  } while (state.given < end && (eager || stage || state.operations < most_ranges_waiting_));
  state.all_started = state.given == bytes;
  if (stage) end_use(*stage, next.step);
  if (state.all_started && state.operations == 0) complete(part, id);
}

void Executor::note_sent(ActivePart& part, StepId id, std::size_t bytes, bool eager, bool mapped) {
  if (mapped) ++tally_.mapped_messages;
  if (!eager && !mapped) ++tally_.descriptor_messages;
  if (tracer_) tracer_->sent(part, id, bytes, eager);
  part.run->sent += bytes;
  record_.add({.bytes = bytes,
               .run = number_or_tag(*part.run),
               .step = id,
               .part = part.number,
               .peer = static_cast<std::uint32_t>(part.process_at(part.graph->steps()[id].peer)),
               .kind = FlightRecord::Kind::Sent});
}

/// Sends the next range of a message of so many bytes.
void Executor::send_range(const StepOf& step, std::span<const std::byte> range, std::size_t bytes, bool eager,
                          Stage* stage) {
  ActivePart& part = *step.part;
  StepState& state = part.states[step.step];
  const Step& what = part.graph->steps()[step.step];
  const Rank peer = part.process_at(what.peer);
  Link& to = links_[peer];
  Operation* operation = operations_.take();
  operation->header = header_of(part, what, bytes);
  operation->header.begin_at(state.given);
  operation->header.credits = to.tell();
  operation->step = {};
  operation->peer = peer;
  operation->bytes = range.size();
  operation->fetch = false;
  operation->stage = nullptr;
  operation->on_wire = eager ? range.size() : 0;
  if (eager) to.credit -= static_cast<std::int64_t>(range.size() + fragment_charge);
  state.given += range.size();
  if (hand_over(operation, range, eager ? Delivery::Eager : Delivery::Descriptor)) return;
  operation->step = step;
  operation->stage = stage;
  if (stage) ++stage->users;
  ++state.operations;
  ++part.run->operations;
}

bool Executor::hand_over(Operation* operation, std::span<const std::byte> bytes, Delivery delivery) {
  const auto header = std::as_bytes(std::span(&operation->header, 1));
  const Started started = transport_->send(static_cast<Peer>(operation->peer), header, bytes, delivery, operation);
  if (started == Started::Done) {
    operations_.give_back(operation);
    return true;
  }
  links_[operation->peer].on_wire += operation->on_wire;
  return false;
}

void Executor::end_send(Operation* operation, bool sent) {
  const StepOf step = operation->step;
  Link& to = links_[operation->peer];
  to.on_wire -= operation->on_wire;
  Stage* const stage = operation->stage;
  const bool goes_on = end_operation(operation, sent);
  if (stage) end_use(*stage, goes_on ? step : StepOf());
  if (!goes_on) return;
  StepState& state = step.part->states[step.step];
  --state.operations;
  if (!state.all_started) {
    // As many ranges waited as may wait. The queue is looked at once the handlers have returned.
    if (!stage && state.operations + 1 == most_ranges_waiting_) {
      to.sends.push(step.part->run->call.options.priority, {.step = step});
    }
  } else if (state.operations == 0) {
    complete(*step.part, step.step);
  }
}

/// Does what the ends of sends and fetches have in common. Returns true if the step goes on.
bool Executor::end_operation(Operation* operation, bool well) {
  links_.request_pump(operation->peer);
  ActivePart* part = operation->step.part;
  operations_.give_back(operation);
  if (!part) return false;
  Run& run = *part->run;
  --run.operations;
  if (!run.finished) return well;
  if (run.operations > 0) return false;
  if (options_.progress_thread) ended_.notify_all();
  let_go(run);
  return false;
}

void Executor::return_credit(Rank peer) {
  if (links_[peer].owed() >= credit_threshold_) send_credit(peer);
}

/// Sends a message that does nothing but return credit and wake a peer that sleeps.
void Executor::send_credit(Rank peer) {
  Operation* operation = operations_.take();
  operation->header = {.credits = links_[peer].tell(), .kind = MessageKind::Credit};
  operation->step = {};
  operation->peer = peer;
  operation->bytes = 0;
  operation->on_wire = 0;
  operation->fetch = false;
  operation->stage = nullptr;
  hand_over(operation, {}, Delivery::Eager);
}

}  // namespace lacuna::runtime
