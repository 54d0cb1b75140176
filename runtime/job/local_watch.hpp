#pragma once

#include <mutex>
#include <vector>

#include "runtime/job/inquiry.hpp"
#include "runtime/job/watch.hpp"
#include "runtime/values/clock.hpp"

namespace lacuna::runtime {

/// Does for the ranks of one process what the watch does for processes. It compares what they posted, and makes the
/// members of a communicator that it poisons release each other's memory. Its destructor writes to the log where ranks
/// did not agree. Thread rule: any thread may call. A rank may report from within Watched::help().
class LocalWatch {
 public:
  /// The last `aggregators` of the processes are no ranks. They belong to all communicators, and are never asked what
  /// they have posted.
  explicit LocalWatch(Rank processes, Rank aggregators = 0)
      : ranks_(static_cast<std::size_t>(processes)), first_aggregator_(processes - aggregators) {}
  ~LocalWatch();
  LocalWatch(const LocalWatch&) = delete;
  LocalWatch& operator=(const LocalWatch&) = delete;

  /// `watched` must live until this rank leaves.
  void join(Rank rank, Watched& watched);
  /// Says goodbye, like Watch::leave().
  void leave(Rank rank, std::vector<Reach> reached);
  /// Judges at once. When this returns, all members have the verdict, if there is one.
  void report(Rank reporter, const Trouble& trouble);

 private:
  struct Member {
    Watched* watched = nullptr;
    std::vector<Reach> reached;
    Clock::time_point left_at{};
  };

  Throttle told_late_{between_warnings};
  std::recursive_mutex mutex_;  // a rank may report from within help()
  std::vector<Member> ranks_;
  const Rank first_aggregator_;
};

}  // namespace lacuna::runtime
