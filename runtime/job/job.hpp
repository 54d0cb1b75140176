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
class AggregatorThreads;
class LocalWatch;
}  // namespace lacuna::runtime

namespace lacuna {

/// What the communicators of one rank of a job share. The members are made in this order, and destroyed in reverse.
struct JobState {
  explicit JobState(const runtime::Config& given) : config(given) {}
  JobState(const JobState&) = delete;
  JobState& operator=(const JobState&) = delete;
  ~JobState();

  /// The number of ranks. The processes behind them are aggregators.
  Rank ranks() const { return executor->size() - aggregators; }
  bool is_aggregator() const { return executor->rank() >= ranks(); }
  /// The group of these processes, which are ranks, with the aggregators.
  Group group(std::vector<Rank> members) const { return {std::move(members), executor->size(), aggregators}; }
  /// The group of all ranks.
  Group world() const;
  /// The host of each rank of a group and, behind them, of each aggregator.
  Hosts hosts_of(const Group& group) const;
  /// Tells all aggregators, and does not wait. Returns ok, or why some are not told. Without aggregators, nothing is
  /// done.
  Status announce(const runtime::Announcement& announcement) const;
  /// Reports a trouble to the watch.
  void report(const runtime::Trouble& trouble) const;

  JobCounters counters() const;
  std::string_view algorithm_for(Collective collective) const {
    return algorithms[static_cast<std::size_t>(collective)];
  }

  std::shared_ptr<runtime::AggregatorThreads> threads;  ///< those of this process, which end after its ranks
  const runtime::Home home;
  runtime::Config config;
  Rank aggregators = 0;  ///< so many of the job's processes, the last ones, are aggregators
  std::uint64_t id = 0;  ///< equal on all ranks, different for each job
  std::vector<std::string> host_names;
  Hosts hosts;                                                 ///< the host of each process
  std::array<std::string, all_collectives.size()> algorithms;  ///< for calls that name none; empty: lacuna chooses
  std::unique_ptr<runtime::Executor> executor;
  std::unique_ptr<runtime::Watch> watch;
  std::shared_ptr<runtime::LocalWatch> local_watch;  ///< in place of `watch`, if all ranks are in one process
  /// All processes of a job with aggregators, which announcements pass through. Null: there are no aggregators.
  std::unique_ptr<runtime::Communicator> hall;
  bool is_connected = false;  ///< messages may be sent

 private:
  void hint_at_overlap() const;
  void write_metrics() const;
  void write_trace(const runtime::ClockRelation& clock) const;
};

/// The key of the communicator of all ranks, for random draws. It is the same in every job.
inline constexpr std::uint64_t world_key = Digest().add("world").value();

/// A communicator. The job ends with the last of its communicators.
struct GroupState {
  /// `place` says how it was made: world_key, or what key_of_part() returns. Unlike `id`, it is the same in jobs that
  /// do the same.
  GroupState(std::shared_ptr<JobState> whole, std::uint64_t id, std::uint64_t place, const Group& group,
             const std::shared_ptr<std::byte>& board)
      : job(std::move(whole)),
        key(place),
        communicator(*job->executor, id, group, job->hosts_of(group).with_board(board != nullptr), place) {
    if (job->hall) communicator.announce_on(*job->hall);
    if (communicator.hosts().has_board()) {
      communicator.share({board, group.size(), communicator.rank(), job->executor->doorbell()});
    }
  }
  /// The aggregators forget the communicator.
  ~GroupState();
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  /// The key of the communicator that the next split makes for this colour.
  std::uint64_t key_of_part(int colour) const {
    return Digest().add(key).add(splits).add(static_cast<std::uint64_t>(colour)).value();
  }

  std::shared_ptr<JobState> job;
  const std::uint64_t key;
  std::uint64_t splits = 0;  ///< number of splits of this communicator so far
  runtime::Communicator communicator;
};

/// Makes a communicator. `board` is memory that all its ranks share, or null. A child made by fork() never destroys it,
/// because everything in it belongs to the parent.
std::shared_ptr<GroupState> make_group(std::shared_ptr<JobState> job, std::uint64_t id, std::uint64_t place,
                                       const Group& group, const std::shared_ptr<std::byte>& board = nullptr);

/// Makes a new communicator known to the job's aggregators. Its members call this; the first one waits until all
/// aggregators know it.
Status introduce(GroupState& group);

}  // namespace lacuna
