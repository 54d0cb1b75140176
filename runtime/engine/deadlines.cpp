#include "runtime/engine/deadlines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/observe/log.hpp"

namespace lacuna::runtime {

Deadlines::Deadlines(const ExecutorOptions& options, Rank rank, Rank size, const Transport& transport,
                     const Clients& communicators, Failures& failures)
    : options_(options),
      rank_(rank),
      transport_(transport),
      communicators_(communicators),
      failures_(failures),
      duties_(options.stall),
      broken_(static_cast<std::size_t>(size)) {}

void Deadlines::begin(Run& run) {
  const auto now = options_.time.coarse_now();
  const auto deadline = run.call.options.deadline;
  run.begun = now;
  run.lateness_reported = false;
  run.deadline = later(now, deadline.count() > 0 ? deadline : options_.deadline);
  duties_.begin_run(now, run.deadline);
}

void Deadlines::note_broken(Rank peer, const Status& why) {
  auto& broken = broken_[static_cast<std::size_t>(peer)];
  if (broken) return;
  broken = {.reported_at = options_.time.now() + broken_link_grace, .why = why};
  duties_.note_broken(broken->reported_at);
  failures_.guard([&] { log_info(Subsystem::Transport, "the connection to rank {} broke: {}", peer, why.message()); });
}

bool Deadlines::look(const End& end) {
  if (!duties_.has_runs()) return false;
  const auto now = options_.time.coarse_now();
  if (!duties_.are_due(now)) return false;
  const bool stalled = duties_.begin_look(now);
  if (stalled) ++stalls_;
  for (Client* communicator : communicators_) {
    if (communicator->runs().calls() > 0) check_calls(*communicator, now, stalled);
    if (!communicator->runs().messages().empty()) check_messages(*communicator, now, stalled, end);
  }
  duties_.end_look(now);
  return true;
}

void Deadlines::check_calls(Client& communicator, Clock::time_point now, bool stalled) {
  CollectiveRun* first = nullptr;
  communicator.runs().each_call([&](CollectiveRun& run) {
    if (!first || comes_before(run.number, first->number)) first = &run;
    if (now >= run.deadline && !run.expiry_reported) {
      run.expiry_reported = true;
      failures_.report(communicator, Trouble::Kind::Expired, run.number,
                       fmt::format("the deadline has passed on rank {}: {}", rank_, communicator.text_of(run)));
    }
    if (now >= run.deadline + verdict_grace) {
      failures_.fail(communicator, Status(Code::TimedOut, communicator.text_of(run)));
    }
    duties_.expect(run.expiry_reported ? run.deadline + verdict_grace : run.deadline);
  });
  check_connections(communicator, *first, now);
  if (stalled) {
    log_info(Subsystem::Executor, "no progress for {} ms: {}", options_.stall.count(), communicator.text_of(*first));
  }
  if (note_lateness(*first, now) || stalled) report_stall(communicator, *first, now);
}

/// Reports a connection between members that has been broken for long, unless the first call is reported already.
void Deadlines::check_connections(Client& communicator, CollectiveRun& first, Clock::time_point now) {
  for (Rank peer = 0; peer < static_cast<Rank>(broken_.size()); ++peer) {
    const auto& broken = broken_[static_cast<std::size_t>(peer)];
    if (!broken || communicator.group().rank_of(peer) < 0 || first.expiry_reported) continue;
    if (now < broken->reported_at) {
      duties_.expect(broken->reported_at);
      continue;
    }
    first.expiry_reported = true;
    failures_.report(communicator, Trouble::Kind::Broken, first.number,
                     fmt::format("the connection between ranks {} and {} broke ({}): {}", rank_, peer,
                                 broken->why.message(), communicator.text_of(first)));
  }
}

void Deadlines::check_messages(Client& communicator, Clock::time_point now, bool stalled, const End& end) {
  std::vector<bool> asked(stalled ? broken_.size() : 0);
  const auto& messages = communicator.runs().messages();
  for (std::size_t i = messages.size(); i-- > 0;) {  // ending one moves the last to its place
    MessageRun& run = *messages[i];
    const Rank cut_off = find_broken(run);
    const Broken* const broken = cut_off < 0 ? nullptr : &*broken_[static_cast<std::size_t>(cut_off)];
    const bool unmet = run.kind == RunKind::Receive && run.active.empty();
    if (now >= run.deadline && unmet) {
      const std::string text = communicator.text_of(run);
      communicator.matching().forget(run);
      end(run, {Code::TimedOut, fmt::format("the deadline has passed on rank {}: {}", rank_, text)});
      continue;
    }
    if (!run.expiry_reported && broken && now >= broken->reported_at) {
      run.expiry_reported = true;
      failures_.report_message(run, Trouble::Kind::Broken, cut_off,
                               fmt::format("the connection broke ({})", broken->why.message()));
    } else if (!run.expiry_reported && now >= run.deadline) {
      run.expiry_reported = true;
      failures_.report_message(run, Trouble::Kind::Expired, run.peer);
    }
    if (now >= run.deadline + verdict_grace) {
      failures_.fail(communicator, Status(Code::TimedOut, communicator.text_of(run)));
    }
    duties_.expect(unmet || !run.expiry_reported ? run.deadline : run.deadline + verdict_grace);
    if (broken && !run.expiry_reported) duties_.expect(broken->reported_at);
    if (run.peer == MessageRun::any_process) continue;  // any other rank may still send
    if (note_lateness(run, now)) {
      log_warning(Subsystem::Executor, "rank {} has waited for rank {} for {} s: {}", rank_, run.peer,
                  std::chrono::round<std::chrono::seconds>(now - run.begun).count(), communicator.text_of(run));
    }
    if (!stalled || asked[static_cast<std::size_t>(run.peer)]) continue;
    asked[static_cast<std::size_t>(run.peer)] = true;
    failures_.report_message(run, Trouble::Kind::Stalled, run.peer);
  }
}

/// Returns a process that the message needs and to which the connection is broken, or -1. A receive from any rank needs
/// them all.
Rank Deadlines::find_broken(const MessageRun& run) const {
  const auto is_broken = [&](Rank process) { return broken_[static_cast<std::size_t>(process)].has_value(); };
  if (run.peer != MessageRun::any_process) return is_broken(run.peer) ? run.peer : -1;
  const auto& members = run.communicator->group().members();
  const auto found = std::find_if(members.begin(), members.end(), is_broken);
  return found == members.end() ? -1 : *found;
}

/// Returns true when a run is found to be late, once. Other runs may go on meanwhile, so that nothing stalls.
bool Deadlines::note_lateness(Run& run, Clock::time_point now) const {
  return now - run.begun >= options_.late && !std::exchange(run.lateness_reported, true);
}

void Deadlines::report_stall(Client& communicator, const CollectiveRun& run, Clock::time_point now) {
  Trouble report = communicator.trouble(Trouble::Kind::Stalled, run.number, communicator.text_of(run));
  report.waits = waits_of(communicator);
  if (run.lateness_reported) report.waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - run.begun);
  failures_.report(communicator, std::move(report));
}

/// Returns the ranks whose messages the communicator's unfinished calls wait for.
std::vector<Wait> Deadlines::waits_of(const Client& communicator) const {
  std::vector<Wait> waits;
  const auto add = [&](Rank peer) {
    const bool is_known = std::any_of(waits.begin(), waits.end(), [&](const Wait& one) { return one.peer == peer; });
    if (peer == rank_ || is_known) return;
    waits.push_back({peer, transport_.counters(static_cast<Peer>(peer)).messages_received});
  };
  communicator.runs().each_call([&](const CollectiveRun& run) {
    for (const auto& part : run.active) {
      for (StepId id = 0; id < part.graph->steps().size() && waits.size() < most_waits; ++id) {
        const Step& step = part.graph->steps()[id];
        const StepState& state = part.states[id];
        if (!state.started || state.ended) continue;
        if (step.receives()) add(part.process_at(step.peer));
        if (!step.meets()) continue;
        for (Rank rank : communicator.board()->missing(run.first_turn + part.number)) {
          add(communicator.group().process_of(rank));
        }
      }
    }
  });
  return waits;
}

}  // namespace lacuna::runtime
