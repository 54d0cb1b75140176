#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/communicator/announcement.hpp"
#include "runtime/communicator/communicator.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/join.hpp"

namespace lacuna::runtime {

/// What an aggregator does: it takes part in the calls that the ranks announce. It has no data of its own. For each
/// communicator of the ranks it has one of the same id, whose calls get the numbers that they have on the ranks. So
/// messages, digests and verdicts are as among ranks.
/// Thread rule: one thread calls it.
class Aggregator {
 public:
  /// Knows the communicator of all ranks, which has the id `world`, from the beginning. It must be made before the
  /// job's executor is connected, and be destroyed before the job.
  Aggregator(JobState& job, const Registry& registry, std::uint64_t world);

  /// Serves until all ranks have left. Returns ok then, or how the job has failed, or which rank has announced what
  /// can't be. While there is nothing to do, the thread sleeps.
  Status serve();

 private:
  struct Served {
    std::unique_ptr<Communicator> communicator;
    bool freed = false;
  };

  void know(std::uint64_t id, const Group& group);
  bool has_duty() const;
  std::optional<std::size_t> waiting(Rank from) const;
  Result<Announcement> take(Rank from, std::size_t bytes);
  Status handle(Rank from, const Announcement& announcement);
  Status meet(Rank from, const Announcement& announcement);
  void take_part(Communicator& communicator, const Announcement& announcement);
  Status start(Communicator& communicator, const Announcement& announcement);
  void forget_freed();

  JobState& job_;
  const Registry registry_;
  std::map<std::uint64_t, Served> served_;  // by id
  std::vector<bool> left_;                  // by rank
};

/// The threads of the aggregators that are in one process with the ranks. Its destructor waits for their end.
class AggregatorThreads {
 public:
  AggregatorThreads() = default;
  ~AggregatorThreads();
  AggregatorThreads(const AggregatorThreads&) = delete;
  AggregatorThreads& operator=(const AggregatorThreads&) = delete;

  /// Starts a thread that serves. It destroys the aggregator and then the job.
  void start(std::shared_ptr<JobState> job, std::unique_ptr<Aggregator> aggregator);

 private:
  std::vector<std::thread> threads_;
};

}  // namespace lacuna::runtime
