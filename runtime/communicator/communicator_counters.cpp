#include "runtime/communicator/communicator.hpp"

namespace lacuna::runtime {

Communicator::CallTally& Communicator::tally(const Run& run) {
  if (run.kind == RunKind::Collective) return calls_[static_cast<std::size_t>(run.call.collective)];
  return run.kind == RunKind::Send ? sends_ : receives_;
}

CommunicatorCounters Communicator::counters(const TickScale::Line& scale) const {
  CommunicatorCounters all{.id = id(), .rank = rank(), .size = size(), .calls = {}};
  const auto in_seconds = [&](const CallTally& tally) -> CallCounters {
    return {.started = tally.started,
            .completed = tally.completed,
            .failed = tally.failed,
            .seconds = scale.seconds(tally.ticks)};
  };
  for (std::size_t i = 0; i < calls_.size(); ++i) all.calls[i] = in_seconds(calls_[i]);
  all.sends = in_seconds(sends_);
  all.receives = in_seconds(receives_);
  all.methods = methods_;
  return all;
}

void Communicator::restart_measures() {
  for (MethodCounters& counted : methods_) counted.measures.restart();
}

}  // namespace lacuna::runtime
