#pragma once

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/values/dtype.hpp"

namespace lacuna {

/// The ranks of a communicator, and which processes of the job they are. The number of a process is its rank in the
/// job. The watch, and texts for people, name processes. A group also knows the job's *aggregators*. These are
/// processes that are no ranks of any communicator of the application. In calls that use them they stand behind the
/// ranks: number size() is the first one.
class Group {
 public:
  /// All processes of a job.
  explicit Group(Rank processes) : members_(static_cast<std::size_t>(processes)), ranks_(members_.size()) {
    std::iota(members_.begin(), members_.end(), 0);
    ranks_ = members_;
  }
  /// Rank i is the process members[i] of a job of `processes`, of which the last `aggregators` are no members. No
  /// process may stand there twice.
  Group(std::vector<Rank> members, Rank processes, Rank aggregators = 0)
      : members_(std::move(members)), ranks_(static_cast<std::size_t>(processes), -1), aggregators_(aggregators) {
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      ranks_[static_cast<std::size_t>(members_[rank])] = static_cast<Rank>(rank);
    }
    for (Rank i = 0; i < aggregators; ++i) {
      ranks_[static_cast<std::size_t>(processes - aggregators + i)] = size() + i;
    }
  }

  Rank size() const { return static_cast<Rank>(members_.size()); }
  /// The number of processes of the job, members or not.
  Rank processes() const { return static_cast<Rank>(ranks_.size()); }
  Rank aggregators() const { return aggregators_; }
  Rank process_of(Rank rank) const {
    return rank < size() ? members_[static_cast<std::size_t>(rank)] : processes() - aggregators_ + rank - size();
  }
  /// The rank of a process, the number of an aggregator, or -1 for another process.
  Rank rank_of(Rank process) const { return ranks_[static_cast<std::size_t>(process)]; }
  /// Is every process of the job a member or an aggregator?
  bool is_whole_job() const { return size() + aggregators_ == processes(); }
  /// The process of each rank.
  const std::vector<Rank>& members() const { return members_; }

 private:
  std::vector<Rank> members_;
  std::vector<Rank> ranks_;  // by process
  Rank aggregators_ = 0;
};

}  // namespace lacuna
