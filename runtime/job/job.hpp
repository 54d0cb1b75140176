#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "runtime/communicator/communicator.hpp"
#include "runtime/config/config.hpp"
#include "runtime/job/fork_guard.hpp"
#include "runtime/job/watch.hpp"
#include "runtime/values/digest.hpp"
#include "runtime/values/job_counters.hpp"
#include "runtime/values/progress.hpp"

namespace lacuna::runtime {
class LocalWatch;
}

namespace lacuna {

/// What the communicators of one rank of a job share. The members are made in this order, and destroyed in reverse.
struct JobState {
  explicit JobState(const runtime::Config& given) : config(given) {}
  JobState(const JobState&) = delete;
  JobState& operator=(const JobState&) = delete;
  ~JobState();

  JobCounters counters() const;
  std::string_view algorithm_for(Collective collective) const {
    return algorithms[static_cast<std::size_t>(collective)];
  }

  const runtime::Home home;
  runtime::Config config;
  std::uint64_t id = 0;  ///< equal on all ranks, different for each job
  std::vector<std::string> host_names;
  Hosts hosts;                                                 ///< the host of each process
  std::array<std::string, all_collectives.size()> algorithms;  ///< for calls that name none; empty: lacuna chooses
  std::unique_ptr<runtime::Executor> executor;
  std::unique_ptr<runtime::Watch> watch;
  std::shared_ptr<runtime::LocalWatch> local_watch;  ///< in place of `watch`, if all ranks are in one process

 private:
  void write_metrics() const;
  void write_trace(const runtime::ClockRelation& clock) const;
};

/// The key of the communicator of all ranks, for random draws. It is the same in every job.
inline constexpr std::uint64_t world_key = Digest().add("world").value();

/// A communicator. The job ends with the last of its communicators.
struct GroupState {
  /// `place` says how it was made: world_key, or what key_of_part() returns. Unlike `id`, it is the same in jobs that
  /// do the same.
  GroupState(std::shared_ptr<JobState> whole, std::uint64_t id, std::uint64_t place, const Group& group)
      : job(std::move(whole)),
        key(place),
        communicator(*job->executor, id, group, job->hosts.of(group.members()), place) {}

  /// The key of the communicator that the next split makes for this colour.
  std::uint64_t key_of_part(int colour) const {
    return Digest().add(key).add(splits).add(static_cast<std::uint64_t>(colour)).value();
  }

  std::shared_ptr<JobState> job;
  const std::uint64_t key;
  std::uint64_t splits = 0;  ///< number of splits of this communicator so far
  runtime::Communicator communicator;
};

/// Makes a communicator. A child made by fork() never destroys it, because everything in it belongs to the parent.
std::shared_ptr<GroupState> make_group(std::shared_ptr<JobState> job, std::uint64_t id, std::uint64_t place,
                                       const Group& group);

/// Selects the algorithm that serves a call of ranks on these hosts, or says why there is none. A job does not know
/// the algorithms, so whoever makes it brings this function (select_algorithm() of the registry).
using SelectAlgorithm = Result<const Algorithm*> (*)(const Call& call, const Hosts& hosts, std::string_view instead);

/// Joins the job that `config` describes. Returns the communicator of all its ranks.
Result<std::shared_ptr<GroupState>> join_world(const runtime::Config& config, SelectAlgorithm select);

/// Makes a job whose ranks are all inside this process. Returns the communicator of each rank.
Result<std::vector<std::shared_ptr<GroupState>>> make_local(Rank size, Progress progress, SelectAlgorithm select);

}  // namespace lacuna
