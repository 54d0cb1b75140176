#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "runtime/communicator.hpp"
#include "runtime/config.hpp"
#include "runtime/job/watch.hpp"

namespace lacuna {

class LocalJudge;

/// What the communicators of one rank of a job share, in the order in which it is made; torn down in reverse.
struct JobState {
  explicit JobState(const runtime::Config& given) : config(given) {}
  JobState(const JobState&) = delete;
  JobState& operator=(const JobState&) = delete;
  ~JobState();

  JobCounters counters() const;
  std::string_view algorithm_for(Collective collective) const {
    return algorithms[static_cast<std::size_t>(collective)];
  }

  runtime::Config config;
  std::uint64_t id = 0;  ///< equal on all ranks, another one for each job
  std::vector<std::string> host_names;
  Hosts hosts;                                                 ///< of the processes
  std::array<std::string, all_collectives.size()> algorithms;  ///< for calls that name none; empty: lacuna's choice
  std::unique_ptr<runtime::Executor> executor;
  std::unique_ptr<runtime::Watch> watch;
  std::shared_ptr<LocalJudge> judge;

 private:
  void write_metrics() const;
  void write_trace(const runtime::ClockRelation& clock) const;
};

/// A communicator. The job ends with the last of its communicators.
struct GroupState {
  GroupState(std::shared_ptr<JobState> whole, std::uint64_t id, const Group& group)
      : job(std::move(whole)), communicator(*job->executor, id, group, job->hosts.of(group.members())) {}

  std::shared_ptr<JobState> job;
  runtime::Communicator communicator;
};

/// Joins the job that `config` describes: the communicator of all its ranks.
Result<std::shared_ptr<GroupState>> join_world(const runtime::Config& config);

/// Makes the ranks of a job inside this process.
Result<std::vector<std::shared_ptr<GroupState>>> make_local(Rank size, Progress progress);

}  // namespace lacuna
