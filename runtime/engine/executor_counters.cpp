#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"

namespace lacuna::runtime {

Counters Executor::counters(Rank peer) const {
  Lock lock(*this);
  return traffic_with(peer);
}

/// Each row of a board counts as sent to every other member.
Counters Executor::traffic_with(Rank peer) const {
  Counters traffic = transport_->counters(static_cast<Peer>(peer));
  if (peer == rank_) return traffic;
  const RowBytes rows = boards_.bytes_with(peer, communicators_);
  traffic.payload_sent += rows.written;
  traffic.payload_received += rows.read;
  return traffic;
}

JobCounters Executor::job_counters() const {
  Lock lock(*this);
  const TickScale::Line scale = tick_scale_.line();
  JobCounters all{.rank = rank_,
                  .size = size_,
                  .communicators = communicators_.counters(scale),
                  .wait_seconds = scale.seconds(tally_.waited),
                  .overlappable_seconds = scale.seconds(tally_.overlappable),
                  .parked_messages = landings_.tally().messages,
                  .parked_bytes = landings_.tally().bytes,
                  .waiting_messages = landings_.in_use(),
                  .duplicate_fragments = tally_.duplicate_fragments,
                  .descriptor_messages = outgoing_.descriptor_messages(),
                  .mapped_messages = outgoing_.mapped_messages(),
                  .staged_bytes = stages_.bytes(),
                  .stalls = deadlines_.stalls()};
  for (Rank peer = 0; peer < size_; ++peer) all.peers.push_back(traffic_with(peer));
  return all;
}

void Executor::restart_measures() {
  Lock lock(*this);
  communicators_.restart_measures();
}

/// Counts the time up to the last event, which is what was waited for.
void Executor::count_wait(std::uint64_t begin, bool looked_in_vain) {
  const std::uint64_t waited = ticks_between(begin, record_.ticks());
  tally_.waited += waited;
  if (looked_in_vain) tally_.overlappable += absence_.end_wait(record_.ticks(), waited);
  if (tracer_) tracer_->waited(begin);
}

}  // namespace lacuna::runtime
