#include "runtime/engine/landings.hpp"

#include <cstring>
#include <utility>

namespace lacuna::runtime {

Landing* Landings::park(const Arrival& message) {
  const MessageHeader& header = message.header;
  if (message.eager) {
    std::uint64_t& used = links_[message.from].parked_of(header.bytes);
    const std::uint64_t most = granted(message);
    if (header.bytes > most || used + header.bytes + fragment_charge > most) return nullptr;
    used += header.bytes + fragment_charge;
  }
  Landing* landing = pool_.take();
  landing->source = message.from;
  landing->run = header.run;
  landing->part = header.part;
  landing->index = header.index;
  landing->digest = header.digest;
  landing->dtype = header.dtype;
  landing->eager = message.eager;
  landing->bytes = header.bytes;
  ++tally_.messages;
  return landing;
}

void Landings::keep(Landing& landing, std::size_t offset, std::span<const std::byte> bytes) {
  if (!landing.memory && landing.bytes > 0) {
    BlockPool& pool = memory_.arrivals();
    landing.memory = pool.take(landing.bytes);
    landing.kind = pool.space().kind();
    tally_.bytes += landing.bytes;
  }
  if (!bytes.empty()) std::memcpy(landing.memory + offset, bytes.data(), bytes.size());
  landing.pieces.push_back({offset, bytes.size()});
}

bool Landings::keep(Landing& landing, std::size_t offset, Descriptor descriptor) {
  Link& sender = links_[landing.source];
  if (sender.offered >= limits_.most_descriptors) return false;
  landing.descriptors.push_back({offset, descriptor});
  ++sender.offered;
  return true;
}

void Landings::release(Landing* landing) {
  Link& sender = links_[landing->source];
  for (const auto& piece : landing->pieces) sender.consumed += piece.bytes + fragment_charge;
  for (const auto& waiting : landing->descriptors) discards_.push_back(waiting.descriptor);
  sender.offered -= landing->descriptors.size();
  if (landing->eager) sender.parked_of(landing->bytes) -= landing->bytes + fragment_charge;
  if (landing->memory) memory_.of(landing->kind).give_back(std::exchange(landing->memory, nullptr), landing->bytes);
  landing->arrived.clear();
  landing->pieces.clear();
  landing->descriptors.clear();
  links_.request_pump(landing->source);
  pool_.give_back(landing);
}

void Landings::release_of(Run& run) {
  for (ActivePart& part : run.active) {
    for (StepState& state : part.states) {
      if (state.landing) release(std::exchange(state.landing, nullptr));
    }
  }
  if (run.kind != RunKind::Collective) return;
  for (ReadyPart& row : as_collective(run).ready) {
    while (row.early) release(std::exchange(row.early, row.early->next));
  }
}

}  // namespace lacuna::runtime
