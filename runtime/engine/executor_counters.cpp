#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::size_t most_retired = 64;  // communicators that are told apart after their end

}  // namespace

Counters Executor::counters(Rank peer) const {
  Lock lock(*this);
  return transport_->counters(static_cast<Peer>(peer));
}

JobCounters Executor::job_counters() const {
  Lock lock(*this);
  const TickScale::Line scale = tick_scale_.line();
  JobCounters all{.rank = rank_,
                  .size = size_,
                  .communicators = retired_counters_,
                  .wait_seconds = scale.seconds(tally_.waited),
                  .parked_messages = landings_.tally().messages,
                  .parked_bytes = landings_.tally().bytes,
                  .waiting_messages = landings_.in_use(),
                  .duplicate_fragments = tally_.duplicate_fragments,
                  .descriptor_messages = tally_.descriptor_messages,
                  .stalls = tally_.stalls};
  for (const Client* one : communicators_) all.communicators.push_back(one->counters(scale));
  for (Rank peer = 0; peer < size_; ++peer) all.peers.push_back(transport_->counters(static_cast<Peer>(peer)));
  return all;
}

void Executor::restart_measures() {
  Lock lock(*this);
  for (Client* one : communicators_) one->restart_measures();
  for (CommunicatorCounters& retired : retired_counters_) {
    for (MethodCounters& counted : retired.methods) counted.measures.restart();
  }
}

/// Until the last thing that happened: that is what was waited for.
void Executor::count_wait(std::uint64_t begin) {
  tally_.waited += ticks_between(begin, record_.ticks());
  if (tracer_) tracer_->waited(begin);
}

/// Keeps how far a communicator came, for the watch and for the goodbye.
void Executor::tell_retired(const Client& communicator, Reach reach) {
  const std::lock_guard lock(told_);
  std::erase(communicators_, &communicator);
  retired_.push_back(std::move(reach));
  if (retired_.size() > communicators_told) {
    Posted& forgotten = retired_[retired_.size() - 1 - communicators_told].last;
    forgotten = {.digest = 0, .text = {}, .history = forgotten.history};
  }
  if (retired_.size() > most_reaches) retired_.pop_front();
}

/// Keeps what is to be known of a communicator after its end: its calls, for the goodbye and for the counters.
void Executor::retire(const Client& communicator, Reach reach) {
  tell_retired(communicator, std::move(reach));
  if (retired_counters_.size() == most_retired) {
    CommunicatorCounters& together = retired_counters_[0];
    together += retired_counters_[1];
    together.id = 0;
    together.rank = -1;
    together.size = 0;
    retired_counters_.erase(retired_counters_.begin() + 1);
  }
  retired_counters_.push_back(communicator.counters(tick_scale_.line()));
}

}  // namespace lacuna::runtime
