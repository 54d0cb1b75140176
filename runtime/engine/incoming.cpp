#include "runtime/engine/incoming.hpp"

#include <algorithm>
#include <utility>

#include "runtime/engine/client.hpp"

namespace lacuna::runtime {

Incoming::Incoming(const Engine& engine)
    : engine_(engine), credit_threshold_(credit_threshold(engine.options.credit_bytes)) {}

void Incoming::start(ActivePart& part, StepId id) {
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
  engine_.steps.complete(part, id);
}

void Incoming::take_landing(ActivePart& part, StepId id) {
  Landing* landing = part.states[id].landing;
  if (!accepts(part, id, landing->bytes)) {
    engine_.failures.report(*part.run->communicator, Trouble::Kind::Mismatch, number_or_tag(*part.run),
                            text_of_length(part, id, landing->bytes, landing->source, engine_.rank));
    return engine_.landings.release(std::exchange(part.states[id].landing, nullptr));
  }
  Link& sender = engine_.links[landing->source];
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
  const bool may_stay = buffer.memory == MemoryKind::Host || buffer.memory == landing->kind;
  if (lands(part, step) && memory && may_stay) {  // it stays where it is
    buffer.data = std::exchange(landing->memory, nullptr);
    buffer.memory = landing->kind;
    buffer.taken = landing->bytes;
  }
  // The last piece may end the step, the part and the run, so that they are not touched after it.
  landing->users = 1;
  engine_.failures.guard([&] {
    for (const auto& piece : landing->pieces) {
      take({&part, id}, piece.offset, {memory + piece.offset, piece.bytes}, {.landing = landing});
    }
  });
  end_use(*landing);
}

/// One of the users of the landing's memory does not need it any more.
void Incoming::end_use(Landing& landing) {
  if (--landing.users == 0) engine_.landings.release(&landing);
}

/// Returns where a step's bytes will lie in the end. Landed memory is taken when the first byte comes.
std::byte* Incoming::place_of(ActivePart& part, const Step& step, const StepState& state) {
  PartBuffer& buffer = part.buffer(step.to);
  if (lands(part, step) && buffer.taken == 0 && state.bytes > 0) {
    buffer.data = engine_.memory.of(buffer.memory).take(state.bytes);
    buffer.taken = state.bytes;
  }
  return resolve(part, step.to).data;
}

bool Incoming::take(const StepOf& of, std::size_t offset, std::span<const std::byte> bytes, const Holder& holder) {
  ActivePart& part = *of.part;
  const StepId id = of.step;
  if (bytes.empty()) {
    note_taken(part, id, 0);
    return false;
  }
  const Step& step = part.graph->steps()[id];
  std::byte* const to = place_of(part, step, part.states[id]) + offset;
  if (to != bytes.data()) {
    const MemoryKind memory = part.buffer(step.to).memory;
    const MemoryKind there = holder.slot ? holder.memory : holder.landing ? holder.landing->kind : MemoryKind::Host;
    const Extent from = {const_cast<std::byte*>(bytes.data()), bytes.size(), Dtype::U8, Reduction::Sum,
                         there};  // it is only read
    Computation what{.kind = step.kind, .to = {to, bytes.size(), Dtype::U8, Reduction::Sum, memory}, .from = from};
    what.past_caches = part.run->past_caches && memory == MemoryKind::Host;
    if (step.kind == StepKind::ReceiveReduce) {
      what.local = resolve(part, step.from);
      what.local.data += offset;
      what.to.dtype = what.from.dtype = what.local.dtype;
      what.to.count = what.from.count = what.local.count = bytes.size() / size_of(what.local.dtype);
      what.scale = scale_of(part, step);
      what.own = part.run->call.own;
    }
    if (engine_.computing.needs_work(what)) {
      engine_.computing.start_work(of, what, holder);
      return true;
    }
    carry_out(engine_.kernels, what);
  }
  note_taken(part, id, bytes.size());
  return false;
}

/// Notes that so many bytes of a message lie where they belong.
void Incoming::note_taken(ActivePart& part, StepId id, std::size_t bytes) {
  const Step& step = part.graph->steps()[id];
  StepState& state = part.states[id];
  part.run->received += bytes;
  state.consumed += bytes;
  if (state.consumed < state.bytes) return;
  engine_.record.add({.bytes = state.bytes,
                      .run = number_or_tag(*part.run),
                      .step = id,
                      .part = part.number,
                      .peer = static_cast<std::uint32_t>(part.process_at(step.peer)),
                      .kind = FlightRecord::Kind::Received});
  engine_.steps.complete(part, id);
}

void Incoming::start_fetches(Rank peer) {
  Link& from = engine_.links[peer];
  bool goes_on = true;
  while (goes_on && from.fetching < engine_.options.window_bytes) {
    Fifo<Fetch>* lane = from.fetches.next();
    if (!lane) return;
    goes_on = false;
    engine_.failures.serve(lane->front().step.part->run->communicator, [&] { goes_on = start_fetch(peer, *lane); });
  }
}

/// Starts the first fetch of a lane. Returns false if it must wait for a slot.
bool Incoming::start_fetch(Rank peer, Fifo<Fetch>& lane) {
  const Fetch fetch = lane.front();
  ActivePart& part = *fetch.step.part;
  const Step& step = part.graph->steps()[fetch.step.step];
  const MemoryKind final = part.buffer(step.to).memory;
  if (fetch.descriptor.data && final == MemoryKind::Host) {
    static_cast<void>(lane.pop());
    read_in_place(fetch);
    return true;
  }
  const bool is_staged_here = engine_.device.stages(*part.run, final);
  const bool needs_slot = step.kind == StepKind::ReceiveReduce || is_staged_here;
  if (needs_slot && slots_in_use_ == engine_.options.slots) {
    waiting_for_slot_ = true;
    return false;
  }
  const MemoryKind memory = is_staged_here ? MemoryKind::CudaHost : final;
  std::byte* slot = needs_slot ? engine_.memory.of(memory).take(fetch.descriptor.bytes) : nullptr;
  std::byte* to = slot ? slot : place_of(part, step, part.states[fetch.step.step]) + fetch.offset;
  Operation& operation = engine_.operations.take(peer);
  static_cast<void>(lane.pop());
  operation.step = fetch.step;
  operation.bytes = fetch.descriptor.bytes;
  operation.header.begin_at(fetch.offset);
  operation.fetch = true;
  operation.slot = slot;
  operation.slot_memory = memory;
  if (slot) ++slots_in_use_;
  if (is_staged_here) engine_.stages.count(operation.bytes);
  engine_.links[peer].fetching += operation.bytes;
  ++part.run->operations;
  if (engine_.transport.fetch(fetch.descriptor, to, &operation) == Started::Done) end(operation, true);
  return true;
}

/// Takes the bytes of a descriptor from where they lie at their sender.
void Incoming::read_in_place(const Fetch& fetch) {
  bool is_held = false;
  engine_.failures.guard([&] {
    is_held = take(fetch.step, fetch.offset, {fetch.descriptor.data, fetch.descriptor.bytes},
                   {.descriptor = fetch.descriptor});
  });
  if (!is_held) engine_.transport.release(fetch.descriptor);
}

void Incoming::end(Operation& operation, bool fetched) {
  const StepOf step = operation.step;
  const std::size_t offset = operation.header.offset;
  const std::size_t bytes = operation.bytes;
  std::byte* slot = operation.slot;
  const Region& to = step.part->graph->steps()[step.step].to;
  const MemoryKind memory = operation.slot_memory;
  engine_.links[operation.peer].fetching -= bytes;
  bool is_held = false;
  if (engine_.operations.end(operation, fetched)) {
    engine_.failures.guard([&] {
      const std::byte* const from = slot ? slot : resolve(*step.part, to).data + offset;
      is_held = take(step, offset, {from, bytes}, {.slot = slot, .memory = memory});
    });
  }
  if (slot && !is_held) give_back_slot(slot, bytes, memory);
}

void Incoming::give_back_slot(std::byte* slot, std::size_t bytes, MemoryKind memory) {
  engine_.memory.of(memory).give_back(slot, bytes);
  --slots_in_use_;
  if (std::exchange(waiting_for_slot_, false)) engine_.links.request_pump_of_all();
}

void Incoming::release(const Holder& holder, std::size_t bytes) {
  if (holder.landing) end_use(*holder.landing);
  if (holder.slot) give_back_slot(holder.slot, bytes, holder.memory);
  if (holder.descriptor.handle && may_release_) engine_.transport.release(holder.descriptor);
  if (holder.copy) engine_.memory.of(holder.memory).give_back(holder.copy, bytes);
  if (holder.is_lent) give_credit(holder.sender, bytes);
}

void Incoming::take(const StepOf& step, std::size_t offset, Descriptor descriptor) {
  const Rank peer = step.part->process_at(step.part->graph->steps()[step.step].peer);
  engine_.links.request_pump(peer);
  engine_.links[peer].fetches.push(step.part->run->call.options.priority, {step, offset, descriptor});
}

void Incoming::give_credit(Rank sender, std::size_t bytes) {
  Link& from = engine_.links[sender];
  from.consumed += bytes + fragment_charge;
  if (from.owed() >= credit_threshold_) engine_.links.request_pump(sender);
}

void Incoming::remove_if(const std::function<bool(const Run& run)>& belongs) {
  for (Link& peer : engine_.links) {
    peer.fetches.remove_if([&](const Fetch& fetch) {
      if (!belongs(*fetch.step.part->run)) return false;
      engine_.discards.push_back(fetch.descriptor);
      return true;
    });
  }
}

}  // namespace lacuna::runtime
