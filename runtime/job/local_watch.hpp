#pragma once

#include <mutex>
#include <vector>

#include "runtime/job/watch.hpp"
#include "runtime/values/clock.hpp"

namespace lacuna::runtime {

/// Does for ranks of one process what the watch does for processes: compares what they posted, and lets the members of
/// a communicator that it poisons let go of each other's memory. What ranks that did not agree called last goes to the
/// log at its end.
/// Thread rule: any thread may call; a rank may report while it helps.
class LocalWatch {
 public:
  explicit LocalWatch(Rank size) : ranks_(static_cast<std::size_t>(size)) {}
  ~LocalWatch();
  LocalWatch(const LocalWatch&) = delete;
  LocalWatch& operator=(const LocalWatch&) = delete;

  /// `watched` must live until this rank leaves.
  void join(Rank rank, Watched& watched);
  /// Says goodbye, as Watch::leave().
  void leave(Rank rank, std::vector<Reach> reached);
  /// Judges at once; a verdict has reached all members when this returns.
  void report(Rank reporter, const Trouble& trouble);

 private:
  struct Member {
    Watched* watched = nullptr;
    std::vector<Reach> reached;
    Clock::time_point left_at{};
  };

  std::recursive_mutex mutex_;  // a rank may report from within help()
  std::vector<Member> ranks_;
};

}  // namespace lacuna::runtime
