#include <fmt/format.h>

#include <algorithm>

#include "runtime/job/control.hpp"
#include "runtime/job/names.hpp"
#include "runtime/observe/log.hpp"

// How a job ends before its ranks have left: one verdict reaches all of them, and they stop.
namespace lacuna::runtime {

using watch_messages::Say;

std::string Control::name_members(const std::vector<Rank>& ranks) const {
  std::vector<std::string_view> hosts;
  for (Rank rank : ranks) {
    if (std::find(hosts.begin(), hosts.end(), member(rank).host) == hosts.end()) hosts.push_back(member(rank).host);
  }
  return fmt::format("{} ({} {})", name_ranks(ranks), hosts.size() == 1 ? "host" : "hosts", fmt::join(hosts, ", "));
}

/// Ends the job if a rank counts as stopped. Others may have been silent for as long as was allowed, and some beats
/// less than that one: they are named too.
void Control::look_for_silence() {
  std::vector<Rank> heard, silent;
  bool is_over = false;
  for (Rank rank = 0; rank < size(); ++rank) {
    const Member& one = member(rank);
    if (one.has_left || !one.channel.is_open()) continue;
    is_over |= now_ > missed_at(one);
    (now_ - one.heard > silence_ ? silent : heard).push_back(rank);
  }
  if (!is_over) return;
  const std::string duration = name_duration(silence_);
  if (silent.size() == 1) {
    conclude({Code::PeerFailed, fmt::format("{} does not answer rank {} for {} (stopped, or cut off?)",
                                            name_of_member(silent[0]), rank_, duration)});
  } else if (heard.empty()) {
    conclude({Code::PeerFailed, fmt::format("none of {} answers {} for {} (is it cut off?)", name_ranks(silent),
                                            name_of_member(rank_), duration)});
  } else {
    conclude({Code::PeerFailed, fmt::format("{} do not answer rank {} for {} (stopped, or cut off?)",
                                            name_members(silent), rank_, duration)});
  }
}

void Control::conclude(const Status& verdict) {
  if (failed_) return;
  failed_ = true;
  log_info(Subsystem::Job, "the job has failed: {}", verdict.message());
  inquiries_.clear();
  fallbacks_.clear();
  for (Member& one : members_) {
    if (one.channel.is_open()) {
      watch_messages::send_verdict(one.channel, {.reason = verdict, .communicator = {}, .members = {}});
    }
  }
  stop_until_ = now_ + times_.stop;
  attendant_.fail(verdict, [this] {
    {
      const std::lock_guard lock(mutex_);
      orders_.has_stopped = true;
    }
    wake();
  });
}

void Control::tell_stopped() {
  member(rank_).has_stopped = true;
  if (rank_ != 0) tell_all(Say::Stopped);
}

/// Only rank 0 ends the job, except that a rank ends it that has not heard of rank 0 for too long. If rank 0 gets that
/// verdict and was not suspended, also not in this round, the network was cut for a while.
void Control::take_verdict(Rank from, const Frame& frame) {
  const auto verdict = watch_messages::read_verdict(frame);
  if (!verdict) return;
  if (verdict->communicator) return poison(*verdict, from);
  const bool was_suspended = (woken_ && now_ - *woken_ < silence_) || times_.time.now() - now_ > 2 * period_;
  if (rank_ != 0 || was_suspended) return conclude(verdict->reason);
  conclude({Code::PeerFailed,
            fmt::format("nothing that was sent from {} to {} has arrived for {}, though both answer (was the network "
                        "between them cut?)",
                        name_of_member(0), name_of_member(from), name_duration(silence_))});
}

/// Once this process has stopped, rank 0 waits for the others, and the others wait for rank 0. Nobody waits for long.
/// Rank 0 is there: a verdict on the job comes from rank 0 or is about rank 0, and none comes after its goodbye.
void Control::release_when_stopped() {
  if (!failed_ || released_ || !member(rank_).has_stopped) return;
  if (rank_ == 0 || size() == 2) {
    all_have_stopped_ |=
        std::all_of(members_.begin(), members_.end(), [](const Member& one) { return one.has_stopped; });
  }
  if (!all_have_stopped_ && now_ < stop_until_) return;
  released_ = true;
  if (rank_ == 0 && all_have_stopped_) tell_all(Say::Released);
  attendant_.release(all_have_stopped_);
}

}  // namespace lacuna::runtime
