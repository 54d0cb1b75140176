#include <fmt/format.h>

#include <algorithm>

#include "runtime/communicator.hpp"
#include "runtime/executor.hpp"
#include "runtime/log.hpp"

namespace lacuna::runtime {

void Executor::check_time() {
  const auto now = Clock::now();
  if (movements_ != movements_seen_) {
    movements_seen_ = movements_;
    last_movement_ = now;
  }
  const bool stalled = now >= last_movement_ + options_.stall && now >= last_stall_report_ + options_.stall;
  if (stalled) last_stall_report_ = now;
  const auto waits = [](const Communicator* one) { return one->unfinished_ > 0 || !one->messages_.empty(); };
  tally_.stalls += stalled && std::any_of(communicators_.begin(), communicators_.end(), waits);
  for (Communicator* communicator : communicators_) {
    if (communicator->unfinished_ > 0) check_runs(*communicator, now, stalled);
    if (communicator->look_at_messages(now, stalled)) check_messages(*communicator, now, stalled);
  }
  after_handlers();
}

void Executor::check_runs(Communicator& communicator, Clock::time_point now, bool stalled) {
  Run* first = nullptr;
  for (Run* run : communicator.runs_) {
    if (!run) continue;
    if (!first || static_cast<std::int32_t>(run->number - first->number) < 0) first = run;
    if (now >= run->deadline && !run->expiry_reported) {
      run->expiry_reported = true;
      trouble(communicator, Trouble::Kind::Expired, run->number,
              fmt::format("the deadline has passed on rank {}: {}", rank_, communicator.text_of(*run)));
    }
    if (now >= run->deadline + verdict_grace) {
      failures_.emplace_back(&communicator, Status(Code::TimedOut, communicator.text_of(*run)));
    }
  }
  for (Rank peer = 0; peer < size_; ++peer) {
    Link& to = link(peer);
    if (communicator.group_.rank_of(peer) < 0 || first->expiry_reported) continue;
    if (!to.broken_since || now < *to.broken_since + broken_link_grace) continue;
    first->expiry_reported = true;
    trouble(communicator, Trouble::Kind::Expired, first->number,
            fmt::format("the connection between ranks {} and {} broke ({}): {}", rank_, peer, to.broken.message(),
                        communicator.text_of(*first)));
  }
  if (stalled) {
    log_info(Subsystem::Executor, "no progress for {} ms: {}", options_.stall.count(), communicator.text_of(*first));
    trouble(communicator, Trouble::Kind::Stalled, first->number, communicator.text_of(*first));
  }
}

/// Keeps a report until the lock is free. Without anyone to report to, this rank judges alone.
void Executor::trouble(Communicator& communicator, Trouble::Kind kind, std::uint32_t run, std::string text) {
  const Group& group = communicator.group_;
  auto members = group.is_whole_job() ? std::vector<Rank>() : group.members();
  trouble(communicator, {.kind = kind,
                         .communicator = communicator.id_,
                         .run = run,
                         .text = std::move(text),
                         .members = std::move(members)});
}

void Executor::trouble(Communicator& communicator, Trouble report) {
  if (reporter_) {
    troubles_.push_back(std::move(report));
    deferred_.store(true, std::memory_order_relaxed);
  } else if (report.kind != Trouble::Kind::Stalled) {
    const Code code = report.kind == Trouble::Kind::Expired ? Code::TimedOut : Code::Mismatch;
    failures_.emplace_back(&communicator, Status(code, std::move(report.text)));
  }
}

void Executor::flush_deferred() {
  if (!deferred_.load(std::memory_order_relaxed)) return;
  std::vector<std::shared_ptr<const void>> let_go;
  {
    Lock lock(*this);
    let_go.swap(let_go_);
    deferred_.store(false, std::memory_order_relaxed);
  }
  flush_troubles();
}

void Executor::flush_troubles() {
  std::vector<Trouble> troubles;
  {
    Lock lock(*this);
    troubles.swap(troubles_);
  }
  for (const Trouble& report : troubles) {
    if (reporter_) reporter_(report);
  }
}

}  // namespace lacuna::runtime
