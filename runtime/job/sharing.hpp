#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "runtime/job/deadline.hpp"
#include "runtime/values/status.hpp"
#include "runtime/values/unique_id.hpp"

namespace lacuna::runtime {

/// Gives the unique id of rank 0 to all ranks: rank 0's is read, those of the others are overwritten. Each rank calls
/// it once. It blocks until all have called it, or until the deadline if it can be told to.
using Share = std::function<Status(UniqueId& id, const Deadline& deadline)>;

/// Calls a Share once in any case. A rank that can't join does not come to use it. Then the destructor shares an id of
/// zeros, so that no other rank waits in the share for this one. If that is rank 0, the others learn from the id that
/// it does not come. If not, rank 0 waits for this rank until its own timeout.
class Sharing {
 public:
  Sharing() = default;
  explicit Sharing(Share share) : share_(std::move(share)) {}
  ~Sharing() {
    UniqueId none;
    if (share_) (void)share_(none, Clock::now() + patience);
  }
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;

  void set(Share share) { share_ = std::move(share); }
  bool is_possible() const { return static_cast<bool>(share_); }
  /// The function for the one call, which must come before this object ends. Empty if there is none.
  Share once() {
    if (!share_) return {};
    return [this](UniqueId& id, const Deadline& deadline) { return std::exchange(share_, {})(id, deadline); };
  }

 private:
  static constexpr std::chrono::seconds patience{60};

  Share share_;
};

}  // namespace lacuna::runtime
