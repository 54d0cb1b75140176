#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/engine/posted.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna::runtime {
/// Sets the deadline of a run that begins.
void Executor::start_clock(Run& run) {
  const auto now = options_.time.coarse_now();
  const auto deadline = run.call.options.deadline;
  run.begun = now;
  run.lateness_reported = false;
  run.deadline = later(now, deadline.count() > 0 ? deadline : options_.deadline);
  duties_.begin_run(now, run.deadline);
}

void Executor::check_time() {
  if (!duties_.has_runs()) return;
  const auto now = options_.time.coarse_now();
  if (duties_.are_due(now)) do_duties(now);
}

/// Reports which runs are late, and finds out when there is something to do again.
void Executor::do_duties(Clock::time_point now) {
  const bool stalled = duties_.begin_look(now);
  if (stalled) ++tally_.stalls;
  for (Client* communicator : communicators_) {
    if (communicator->runs().calls() > 0) check_runs(*communicator, now, stalled);
    if (!communicator->runs().messages().empty()) check_messages(*communicator, now, stalled);
  }
  duties_.end_look(now);
  after_handlers();
}

void Executor::check_runs(Client& communicator, Clock::time_point now, bool stalled) {
  CollectiveRun* first = nullptr;
  communicator.runs().each_call([&](CollectiveRun& run) {
    if (!first || comes_before(run.number, first->number)) first = &run;
    if (now >= run.deadline && !run.expiry_reported) {
      run.expiry_reported = true;
      trouble(communicator, Trouble::Kind::Expired, run.number,
              fmt::format("the deadline has passed on rank {}: {}", rank_, communicator.text_of(run)));
    }
    if (now >= run.deadline + verdict_grace) {
      failures_.emplace_back(&communicator, Status(Code::TimedOut, communicator.text_of(run)));
    }
    duties_.expect(run.expiry_reported ? run.deadline + verdict_grace : run.deadline);
  });
  for (Rank peer = 0; peer < size_; ++peer) {
    Link& to = links_[peer];
    if (communicator.group().rank_of(peer) < 0 || first->expiry_reported) continue;
    if (!to.broken_since) continue;
    if (now < *to.broken_since + broken_link_grace) {
      duties_.expect(*to.broken_since + broken_link_grace);
      continue;
    }
    first->expiry_reported = true;
    trouble(communicator, Trouble::Kind::Broken, first->number,
            fmt::format("the connection between ranks {} and {} broke ({}): {}", rank_, peer, to.broken.message(),
                        communicator.text_of(*first)));
  }
  if (stalled) {
    log_info(Subsystem::Executor, "no progress for {} ms: {}", options_.stall.count(), communicator.text_of(*first));
  }
  if (note_lateness(*first, now) || stalled) report_stall(communicator, *first, now);
}

/// Returns true when a run is found to be late, once. Other runs may go on meanwhile, so that nothing stalls.
bool Executor::note_lateness(Run& run, Clock::time_point now) {
  return now - run.begun >= options_.late && !std::exchange(run.lateness_reported, true);
}

void Executor::report_stall(Client& communicator, const CollectiveRun& run, Clock::time_point now) {
  Trouble report = communicator.trouble(Trouble::Kind::Stalled, run.number, communicator.text_of(run));
  report.waits = waits_of(communicator);
  if (run.lateness_reported) report.waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - run.begun);
  trouble(communicator, std::move(report));
}

/// Returns the ranks whose messages the communicator's unfinished calls wait for.
std::vector<Wait> Executor::waits_of(const Client& communicator) const {
  std::vector<Wait> waits;
  const auto is_new = [&](Rank peer) {
    return peer != rank_ && std::none_of(waits.begin(), waits.end(), [&](const Wait& one) { return one.peer == peer; });
  };
  communicator.runs().each_call([&](const CollectiveRun& run) {
    for (const auto& part : run.active) {
      for (StepId id = 0; id < part.graph->steps().size() && waits.size() < most_waits; ++id) {
        const Step& step = part.graph->steps()[id];
        const StepState& state = part.states[id];
        if (!state.started || state.ended) continue;
        if (step.meets()) {
          for (Rank rank : communicator.board()->missing(run.first_turn + part.number)) {
            const Rank peer = communicator.group().process_of(rank);
            if (is_new(peer)) waits.push_back({peer, transport_->counters(static_cast<Peer>(peer)).messages_received});
          }
        }
        if (!step.receives()) continue;
        const Rank peer = part.process_at(step.peer);
        if (is_new(peer)) waits.push_back({peer, transport_->counters(static_cast<Peer>(peer)).messages_received});
      }
    }
  });
  return waits;
}

/// Keeps a report until the lock is free. If there is nobody to report to, this rank decides alone.
void Executor::trouble(Client& communicator, Trouble::Kind kind, std::uint32_t run, std::string text) {
  trouble(communicator, communicator.trouble(kind, run, std::move(text)));
}

void Executor::trouble(Client& communicator, Trouble report) {
  const bool refused = report.kind == Trouble::Kind::Refused;
  if ((refused || report.kind == Trouble::Kind::Mismatch) && !communicator.may_accuse()) return;
  if (reporter_) {
    troubles_.push_back(std::move(report));
    deferred_.store(true, std::memory_order_relaxed);
  } else if (report.kind != Trouble::Kind::Stalled) {
    const auto code = [&] {
      if (refused) return Code::InvalidArgument;
      if (report.kind == Trouble::Kind::Mismatch) return Code::Mismatch;
      return report.kind == Trouble::Kind::Broken ? Code::Transport : Code::TimedOut;
    };
    failures_.emplace_back(&communicator, Status(code(), std::move(report.text)));
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
