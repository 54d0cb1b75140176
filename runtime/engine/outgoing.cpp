#include "runtime/engine/outgoing.hpp"

#include <algorithm>

#include "runtime/engine/client.hpp"
#include "runtime/engine/posted.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::size_t stage_bytes = 4 << 20;  // shorter copies would not reach the speed of the bus
constexpr std::uint32_t most_stages = 2;      // of one send: one is copied while the other one is on the wire

std::size_t fragment_size(const Transport& transport) {
  return std::max<std::size_t>(transport.eager_limit() / 64 * 64, 64);
}

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

Outgoing::Outgoing(const Engine& engine)
    : engine_(engine),
      fragment_bytes_(fragment_size(engine.transport)),
      credit_threshold_(runtime::credit_threshold(engine.options.credit_bytes)),
      most_ranges_waiting_(most_ranges_waiting(engine.options.window_bytes)) {}

void Outgoing::start(ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  const Rank peer = part.process_at(step.peer);
  if (engine_.device.stages(*part.run, part.buffer(step.from).memory) && resolve(part, step.from).count > 0) {
    return stage_more(part, id);
  }
  engine_.links[peer].sends.push(part.run->call.options.priority, {.step = {&part, id}});
  start_sends(peer);
}

void Outgoing::start_sends(Rank peer) {
  Link& to = engine_.links[peer];
  bool goes_on = true;
  while (goes_on && to.on_wire < engine_.options.window_bytes) {
    Fifo<Sending>* lane = to.sends.next();
    if (!lane) return;
    const Sending next = lane->pop();
    goes_on = engine_.failures.serve(next.step.part->run->communicator, [&] { send_message(next); });
  }
}

/// Does the peer read these bytes where they lie? Then they are not copied, whatever credit there is.
bool Outgoing::is_read_in_place(Rank peer, std::span<const std::byte> bytes) const {
  return bytes.size() >= engine_.options.mapped_bytes && engine_.transport.is_mapped_by(static_cast<Peer>(peer), bytes);
}

/// May a message of so many bytes go eagerly? It may if the peer can take all of it now. Else it goes as descriptors,
/// which need no room at the peer until it fetches the bytes.
bool Outgoing::may_be_eager(const Link& to, std::size_t bytes) const {
  const std::uint64_t fragments = bytes / fragment_bytes_ + 1;
  const auto charge = static_cast<std::int64_t>(bytes + fragments * fragment_charge);
  if (bytes == 0) return charge <= to.credit + static_cast<std::int64_t>(empty_allowance);
  return bytes <= engine_.options.eager_bytes && charge <= to.credit;
}

/// Begins a message, or goes on with one after some of its ranges have been taken.
void Outgoing::send_message(const Sending& next) {
  ActivePart& part = *next.step.part;
  const StepId id = next.step.step;
  Stage* const stage = next.stage;
  const Step& step = part.graph->steps()[id];
  StepState& state = part.states[id];
  const Extent extent = resolve(part, step.from);
  const std::size_t bytes = extent.bytes();
  if (bytes == 0 && !sent_when_empty(part, step, step.from)) return engine_.steps.complete(part, id);
  const Rank peer = part.process_at(step.peer);
  const std::byte* const begin = stage ? stage->memory - stage->offset : extent.data;
  const std::size_t end = stage ? stage->offset + stage->bytes : bytes;
  const bool is_first = state.given == 0;
  const bool mapped = is_first && !stage && is_read_in_place(peer, {begin, bytes});
  const bool eager = is_first && !mapped && end == bytes && may_be_eager(engine_.links[peer], bytes);
  const Delivery delivery = eager ? Delivery::Eager : Delivery::Descriptor;
  if (is_first) note_sent(part, id, bytes, delivery, mapped);
  do {
    const std::span<const std::byte> rest = {begin + state.given, end - state.given};
    send_range(next, rest.first(std::min(rest.size(), eager ? fragment_bytes_ : descriptor_range)), bytes, delivery);
  } while (state.given < end && (eager || stage || state.operations < most_ranges_waiting_));
  state.all_started = state.given == bytes;
  if (stage) end_use(*stage, next.step);
  if (state.all_started && state.operations == 0) engine_.steps.complete(part, id);
}

void Outgoing::note_sent(ActivePart& part, StepId id, std::size_t bytes, Delivery delivery, bool mapped) {
  const bool eager = delivery == Delivery::Eager;
  if (mapped) ++mapped_messages_;
  if (!eager && !mapped) ++descriptor_messages_;
  if (engine_.tracer) engine_.tracer->sent(part, id, bytes, eager);
  part.run->sent += bytes;
  engine_.record.add({.bytes = bytes,
                      .run = number_or_tag(*part.run),
                      .step = id,
                      .part = part.number,
                      .peer = static_cast<std::uint32_t>(part.process_at(part.graph->steps()[id].peer)),
                      .kind = FlightRecord::Kind::Sent});
}

/// Sends the next range of a message of so many bytes.
void Outgoing::send_range(const Sending& of, std::span<const std::byte> range, std::size_t bytes, Delivery delivery) {
  ActivePart& part = *of.step.part;
  StepState& state = part.states[of.step.step];
  const Step& step = part.graph->steps()[of.step.step];
  const Rank peer = part.process_at(step.peer);
  Link& to = engine_.links[peer];
  Operation& operation = engine_.operations.take(peer);
  operation.header = header_of(part, step, bytes);
  operation.header.begin_at(state.given);
  operation.header.credits = to.tell();
  operation.bytes = range.size();
  if (delivery == Delivery::Eager) {
    operation.on_wire = range.size();
    to.credit -= static_cast<std::int64_t>(range.size() + fragment_charge);
  }
  state.given += range.size();
  if (hand_over(operation, range, delivery)) return;
  operation.step = of.step;
  operation.stage = of.stage;
  if (of.stage) ++of.stage->users;
  ++state.operations;
  ++part.run->operations;
}

/// Returns true if the transport has taken the bytes, so that the operation has ended.
bool Outgoing::hand_over(Operation& operation, std::span<const std::byte> bytes, Delivery delivery) {
  const auto header = std::as_bytes(std::span(&operation.header, 1));
  const auto peer = static_cast<Peer>(operation.peer);
  if (engine_.transport.send(peer, header, bytes, delivery, &operation) == Started::Done) {
    engine_.operations.give_back(operation);
    return true;
  }
  engine_.links[operation.peer].on_wire += operation.on_wire;
  return false;
}

void Outgoing::end(Operation& operation, bool sent) {
  const StepOf step = operation.step;
  Link& to = engine_.links[operation.peer];
  to.on_wire -= operation.on_wire;
  Stage* const stage = operation.stage;
  const bool goes_on = engine_.operations.end(operation, sent);
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
    engine_.steps.complete(*step.part, step.step);
  }
}

/// Copies further ranges of a message to stages.
void Outgoing::stage_more(ActivePart& part, StepId id) {
  StepState& state = part.states[id];
  const Extent from = resolve(part, part.graph->steps()[id].from);
  while (state.staged < from.bytes() && state.stages < most_stages) {
    const std::size_t bytes = std::min<std::size_t>(stage_bytes, from.bytes() - state.staged);
    Stage& stage = engine_.stages.take(bytes, state.staged);
    state.staged += bytes;
    ++state.stages;
    const Computation copy{.kind = StepKind::Send,
                           .to = {stage.memory, bytes, Dtype::U8, Reduction::Sum, MemoryKind::CudaHost},
                           .from = {from.data + stage.offset, bytes, Dtype::U8, Reduction::Sum, from.memory}};
    engine_.computing.start_work({&part, id}, copy, {.stage = &stage});
  }
}

void Outgoing::end_stage(const Work& work) {
  ActivePart& part = *work.step.part;
  const Rank peer = part.process_at(part.graph->steps()[work.step.step].peer);
  work.holder.stage->users = 1;
  engine_.links[peer].sends.push(part.run->call.options.priority, {.step = work.step, .stage = work.holder.stage});
  engine_.links.request_pump(peer);
}

/// One of the users of a stage does not need it any more. The last one makes room for a further range of the message,
/// if the step goes on.
void Outgoing::end_use(Stage& stage, const StepOf& step) {
  if (--stage.users > 0) return;
  engine_.stages.release(stage);
  if (!step.part) return;
  --step.part->states[step.step].stages;
  stage_more(*step.part, step.step);
}

void Outgoing::remove_if(const std::function<bool(const Run& run)>& belongs) {
  for (Link& peer : engine_.links) {
    peer.sends.remove_if([&](const Sending& next) {
      if (!belongs(*next.step.part->run)) return false;
      if (next.stage) engine_.stages.release(*next.stage);
      return true;
    });
  }
}

void Outgoing::return_credit(Rank peer) {
  if (engine_.links[peer].owed() >= credit_threshold_) send_credit(peer);
}

void Outgoing::send_credit(Rank peer) {
  Operation& operation = engine_.operations.take(peer);
  operation.header = {.credits = engine_.links[peer].tell(), .kind = MessageKind::Credit};
  hand_over(operation, {}, Delivery::Eager);
}

void Outgoing::send_statement(Client& communicator, std::uint32_t run, Rank peer, bool asks) {
  auto posted = communicator.runs().posted(run);
  if (!posted) return;
  Operation& operation = engine_.operations.take(peer);
  operation.statement = encode(*posted);
  if (operation.statement.size() > fragment_bytes_) {
    posted->before.clear();
    operation.statement = encode(*posted);
  }
  operation.bytes = operation.statement.size();
  operation.header = {.communicator = communicator.id(),
                      .bytes = operation.bytes,
                      .credits = engine_.links[peer].tell(),
                      .run = run,
                      .index = asks,
                      .kind = MessageKind::Statement};
  hand_over(operation, operation.statement, Delivery::Eager);
}

}  // namespace lacuna::runtime
