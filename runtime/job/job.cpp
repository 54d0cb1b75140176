#include "runtime/job/job.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <numeric>

#include "runtime/files/output_folder.hpp"
#include "runtime/job/aggregator.hpp"
#include "runtime/job/local_watch.hpp"
#include "runtime/observe/counters_text.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/observe/trace_file.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna {

void JobState::write_trace(const runtime::ClockRelation& clock) const {
  const runtime::Tracer* tracer = executor->tracer();
  if (!tracer) return;
  const Rank rank = executor->rank();
  const TraceOrigin origin{.job = id,
                           .rank = rank,
                           .size = executor->size(),
                           .host = host_names[static_cast<std::size_t>(rank)],
                           .scale = executor->time_scale(),
                           .clock = clock};
  const auto path = std::filesystem::path(config.trace) / fmt::format("rank-{}.trace.json", rank);
  if (Status written = lacuna::write_trace(path, *tracer, origin); !written) {
    runtime::log_error(Subsystem::Trace, "{}", written.message());
  } else if (tracer->dropped() > 0) {
    runtime::log_warning(Subsystem::Trace, "{} had no room in {}: LACUNA_TRACE_EVENTS is {}",
                         count_of(tracer->dropped(), "later event"), path.string(), config.trace_events);
  }
}

JobState::~JobState() {
  std::vector<runtime::Reach> reached;
  if (executor && !is_aggregator()) {
    static_cast<void>(announce({.kind = runtime::Announcement::Kind::Left}));  // if it fails, the job has failed
    reached = executor->reached();  // what an aggregator has posted repeats what ranks have
  }
  if (watch) watch->leave(reached);
  if (local_watch) local_watch->leave(executor->rank(), std::move(reached));
  if (executor) static_cast<void>(executor->close(runtime::longest_leave));
  hall.reset();
  const runtime::ClockRelation clock =
      watch ? watch->clock().value_or(runtime::ClockRelation()) : runtime::ClockRelation();
  watch.reset();
  if (!executor) return;
  executor->set_reporter(nullptr);  // the reporter may refer to the watch
  hint_at_overlap();
  write_metrics();
  write_trace(clock);
}

Group JobState::world() const {
  std::vector<Rank> members(static_cast<std::size_t>(ranks()));
  std::iota(members.begin(), members.end(), 0);
  return group(std::move(members));
}

Hosts JobState::hosts_of(const Group& group) const {
  std::vector<Rank> processes = group.members();
  for (Rank i = 0; i < group.aggregators(); ++i) processes.push_back(group.process_of(group.size() + i));
  return hosts.of(processes);
}

Status JobState::announce(const runtime::Announcement& announcement) const {
  if (!hall || !is_connected) return {};
  const auto bytes = std::make_shared<const std::vector<std::byte>>(encode(announcement));
  Status sent;
  for (Rank process = ranks(); process < executor->size() && sent; ++process) {
    sent = hall->send_alone(process, runtime::announcement_tag, bytes);
  }
  return sent;
}

void JobState::report(const runtime::Trouble& trouble) const {
  if (watch) watch->report(trouble);
  if (local_watch) local_watch->report(executor->rank(), trouble);
}

JobCounters JobState::counters() const {
  JobCounters all = executor->job_counters();
  all.host = host_names[static_cast<std::size_t>(all.rank)];
  return all;
}

/// Short waits are not worth a word.
void JobState::hint_at_overlap() const {
  constexpr double least_seconds = 1;
  if (!config.hints || executor->rank() != 0) return;
  const JobCounters all = counters();
  if (all.wait_seconds < least_seconds || all.overlappable_seconds <= all.wait_seconds / 2) return;
  runtime::log_warning(
      Subsystem::Job,
      "rank 0 waited for {:.1f} s, of which {:.1f} s might have been overlapped: it computed while calls "
      "were under way, and nothing moved meanwhile. With LACUNA_PROGRESS=thread a thread moves the "
      "messages. LACUNA_HINTS=off silences this hint.",
      all.wait_seconds, all.overlappable_seconds);
}

void JobState::write_metrics() const {
  if (config.metrics.empty()) return;
  const JobCounters all = counters();
  for (const auto& [format, ending] : {std::pair(CountersFormat::Json, "json"), {CountersFormat::Prometheus, "prom"}}) {
    const auto path = std::filesystem::path(config.metrics) / fmt::format("rank-{}.{}", all.rank, ending);
    const std::string text = counters_text(all, format);
    const Status written = write_whole(path, [&](std::FILE* file) {
      put(file, text);
      return Status::ok();
    });
    if (!written) runtime::log_error(Subsystem::Trace, "{}", written.message());
  }
}

GroupState::~GroupState() {
  if (communicator.rank() != 0) return;
  using Kind = runtime::Announcement::Kind;
  static_cast<void>(job->announce({.kind = Kind::Freed, .communicator = communicator.id()}));
}

std::shared_ptr<GroupState> make_group(std::shared_ptr<JobState> job, std::uint64_t id, std::uint64_t place,
                                       const Group& group, const std::shared_ptr<std::byte>& board) {
  const auto end = [](GroupState* state) {
    if (state->job->home.is_here()) delete state;
  };
  return {new GroupState(std::move(job), id, place, group, board), end};
}

Status introduce(GroupState& group) {
  const JobState& job = *group.job;
  if (!job.hall || group.communicator.rank() != 0) return {};
  const std::uint64_t id = group.communicator.id();
  Status known = job.announce(
      {.kind = runtime::Announcement::Kind::Made, .communicator = id, .members = group.communicator.group().members()});
  for (Rank process = job.ranks(); process < job.executor->size() && known; ++process) {
    auto confirmation =
        job.hall->post(Receive{.dtype = Dtype::U8, .from = process, .tag = runtime::confirmation_tag(id)});
    known = confirmation ? job.hall->finish(**confirmation) : confirmation.status();
  }
  return known;
}

}  // namespace lacuna
