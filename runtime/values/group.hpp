#pragma once

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/values/dtype.hpp"

namespace lacuna {

/// The ranks of a communicator, and which processes of the job they are. The number of a process is its rank in the
/// job. The watch, and texts for people, name processes.
class Group {
 public:
  /// All processes of a job.
  explicit Group(Rank processes) : members_(static_cast<std::size_t>(processes)), ranks_(members_.size()) {
    std::iota(members_.begin(), members_.end(), 0);
    ranks_ = members_;
  }
  /// Rank i is the process members[i] of a job of `processes`. No process may stand there twice.
  Group(std::vector<Rank> members, Rank processes)
      : members_(std::move(members)), ranks_(static_cast<std::size_t>(processes), -1) {
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      ranks_[static_cast<std::size_t>(members_[rank])] = static_cast<Rank>(rank);
    }
  }

  Rank size() const { return static_cast<Rank>(members_.size()); }
  /// The number of processes of the job, members or not.
  Rank processes() const { return static_cast<Rank>(ranks_.size()); }
  Rank process_of(Rank rank) const { return members_[static_cast<std::size_t>(rank)]; }
  /// The rank of a process, or -1 if it is no member.
  Rank rank_of(Rank process) const { return ranks_[static_cast<std::size_t>(process)]; }
  bool is_whole_job() const { return members_.size() == ranks_.size(); }
  /// The process of each rank.
  const std::vector<Rank>& members() const { return members_; }

 private:
  std::vector<Rank> members_;
  std::vector<Rank> ranks_;  // by process
};

}  // namespace lacuna
