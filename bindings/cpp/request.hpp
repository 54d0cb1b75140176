#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/report.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

namespace runtime {
struct Run;
}
struct GroupState;

/// A collective, or one side of a message, in flight. The destructor of an unfinished one waits for it, at most until
/// its deadline, and after a failure as wait() does. Then its buffers may be freed, unless wait() says that they are in
/// use. A request of Communicator::prepare has not been started, and counts as ended until start().
class Request {
 public:
  Request() = default;
  Request(Request&& other) noexcept : group_(std::move(other.group_)), run_(std::exchange(other.run_, nullptr)) {}
  Request& operator=(Request&& other) noexcept {
    std::swap(group_, other.group_);
    std::swap(run_, other.run_);
    return *this;
  }
  ~Request();

  /// Makes progress. True once the request has finished, well or not. An empty Request is finished.
  bool test();
  /// Waits for the end. At the latest the call's deadline ends it with TimedOut and poisons the communicator. After a
  /// failure it returns when the buffers are reclaimed. If that takes more than some seconds, it returns without that
  /// and says so.
  Status wait();
  /// As wait(), but for `timeout` at most. TimedOut may then mean only that the call still runs.
  Status wait(std::chrono::milliseconds timeout);
  /// After a failure: true once nothing touches the buffers any more. It may stay false until the process ends, if a
  /// network card, or a rank that did not answer, can reach them.
  bool reclaimed();
  /// Starts a prepared collective. The rules of the call itself hold: all ranks start it in the same order, and some of
  /// them may make the call instead. The request can be started again once it has ended. Its buffers, and its sampler
  /// or state, must live until it is destroyed. If start() fails, nothing was sent. After Busy, try again.
  Status start();
  /// The bytes that a receive has taken if it ended well, and 0 for any other request.
  std::size_t received_bytes() const;
  /// What the method of a call that has ended well has left out. Valid until the call is started again. Empty if the
  /// call was to leave nothing out.
  Report report() const;
  /// Lists what the output of rank `at` lacks after the last start of this collective, ascending by Gap::from, then by
  /// offset. Without a method the list is empty. Each rank knows the lists of all ranks without a message. Use it for
  /// checks, reports and sharded data parallelism: the time grows with the cube of the number of ranks.
  Result<std::vector<Gap>> gaps(Rank at) const;

 private:
  friend class Communicator;
  Status check() const;
  Request(std::shared_ptr<GroupState> group, runtime::Run* run) : group_(std::move(group)), run_(run) {}

  std::shared_ptr<GroupState> group_;
  runtime::Run* run_ = nullptr;
};

/// A finished call that asked for it by Options::notify.
struct Completion {
  std::uint64_t token = 0;
  Status status;
};

}  // namespace lacuna
