#include <algorithm>
#include <utility>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"

// How the bytes of a message come to their place: from the transport, from a landing, or by a fetch.
namespace lacuna::runtime {

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
    failures_.report(*part.run->communicator, Trouble::Kind::Mismatch, number_or_tag(*part.run),
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
  const bool may_stay = buffer.memory == MemoryKind::Host || buffer.memory == landing->kind;
  if (lands(part, step) && memory && may_stay) {  // it stays where it is
    buffer.data = std::exchange(landing->memory, nullptr);
    buffer.memory = landing->kind;
    buffer.taken = landing->bytes;
  }
  // The last piece may end the step, the part and the run, so that they are not touched after it.
  landing->users = 1;
  failures_.guard([&] {
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
    if (computing_.needs_work(what)) {
      computing_.start_work({&part, id}, what, holder);
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
               .peer = static_cast<std::uint32_t>(part.process_at(step.peer)),
               .kind = FlightRecord::Kind::Received});
  complete(part, id);
}

void Executor::start_fetches(Rank peer) {
  Link& from = links_[peer];
  bool goes_on = true;
  while (goes_on && from.fetching < options_.window_bytes) {
    Fifo<Fetch>* lane = from.fetches.next();
    if (!lane) return;
    goes_on = false;
    failures_.serve(lane->front().step.part->run->communicator, [&] { goes_on = start_fetch(peer, *lane); });
  }
}

/// Starts the first fetch of a lane. Returns false if it must wait for a slot.
bool Executor::start_fetch(Rank peer, Fifo<Fetch>& lane) {
  const Fetch fetch = lane.front();
  ActivePart& part = *fetch.step.part;
  const Step& step = part.graph->steps()[fetch.step.step];
  const MemoryKind final = part.buffer(step.to).memory;
  if (fetch.descriptor.data && final == MemoryKind::Host) {
    static_cast<void>(lane.pop());
    read_in_place(fetch);
    return true;
  }
  const bool is_staged_here = device_.stages(*part.run, final);
  const bool needs_slot = step.kind == StepKind::ReceiveReduce || is_staged_here;
  if (needs_slot && slots_in_use_ == options_.slots) {
    waiting_for_slot_ = true;
    return false;
  }
  const MemoryKind memory = is_staged_here ? MemoryKind::CudaHost : final;
  std::byte* slot = needs_slot ? memory_.of(memory).take(fetch.descriptor.bytes) : nullptr;
  std::byte* to = slot ? slot : place_of(part, step, part.states[fetch.step.step]) + fetch.offset;
  Operation* operation = operations_.take();
  static_cast<void>(lane.pop());
  operation->step = fetch.step;
  operation->peer = peer;
  operation->bytes = fetch.descriptor.bytes;
  operation->header.begin_at(fetch.offset);
  operation->fetch = true;
  operation->slot = slot;
  operation->slot_memory = memory;
  operation->stage = nullptr;
  if (slot) ++slots_in_use_;
  if (is_staged_here) stages_.count(operation->bytes);
  links_[peer].fetching += operation->bytes;
  ++part.run->operations;
  if (transport_->fetch(fetch.descriptor, to, operation) == Started::Done) end_fetch(operation, true);
  return true;
}

/// Takes the bytes of a descriptor from where they lie at their sender.
void Executor::read_in_place(const Fetch& fetch) {
  bool is_held = false;
  failures_.guard([&] {
    is_held = consume(*fetch.step.part, fetch.step.step, fetch.offset, {fetch.descriptor.data, fetch.descriptor.bytes},
                      {.descriptor = fetch.descriptor});
  });
  if (!is_held) transport_->release(fetch.descriptor);
}

void Executor::end_fetch(Operation* operation, bool fetched) {
  const StepOf step = operation->step;
  const std::size_t offset = operation->header.offset;
  const std::size_t bytes = operation->bytes;
  std::byte* slot = operation->slot;
  const Region& to = step.part->graph->steps()[step.step].to;
  const MemoryKind memory = operation->slot_memory;
  links_[operation->peer].fetching -= bytes;
  bool is_held = false;
  if (end_operation(operation, fetched)) {
    failures_.guard([&] {
      const std::byte* const from = slot ? slot : resolve(*step.part, to).data + offset;
      is_held = consume(*step.part, step.step, offset, {from, bytes}, {.slot = slot, .memory = memory});
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
void Executor::release_held(const Holder& holder, std::size_t bytes) {
  if (holder.landing) end_use(*holder.landing);
  if (holder.slot) give_back_slot(holder.slot, bytes, holder.memory);
  if (holder.descriptor.handle && state_ == State::Running) transport_->release(holder.descriptor);
  if (holder.copy) memory_.of(holder.memory).give_back(holder.copy, bytes);
  if (holder.is_lent) give_credit(holder.sender, bytes);
}

}  // namespace lacuna::runtime
