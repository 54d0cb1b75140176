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

/// A collective, or one side of a message, in flight. Destroying an unfinished one waits for it, at most until its
/// deadline, and after a failure as wait() does: its buffers may go then, unless wait() says that they are in use. What
/// Communicator::prepare returns has not been started, and counts as ended until start().
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

  /// True once finished, well or not; makes progress. An empty Request is finished.
  bool test();
  /// Waits for the end; at the latest the call's deadline ends it with TimedOut and poisons the communicator. After a
  /// failure it returns when the buffers are reclaimed; after some seconds also without that, and says so.
  Status wait();
  /// As wait(), but for `timeout` at most; TimedOut then says only that the call still runs.
  Status wait(std::chrono::milliseconds timeout);
  /// After a failure: true once nothing touches the buffers any more. It may stay false to the end of the process,
  /// where a network card reaches them, or a rank that did not answer.
  bool reclaimed();
  /// Starts a prepared collective, as the call that it stands for would be started: in the same order on all ranks,
  /// some of which may make that call instead. It can be started again once it has ended; until it is destroyed, its
  /// buffers, and a sampler that it was given, must live. On an error nothing was sent; a Busy one may be tried again.
  Status start();
  /// Of a receive that has ended well: the bytes that it took. 0 of anything else.
  std::size_t received_bytes() const;
  /// Of a call that has ended well: what its method has left out, until it is started again. Empty if that was to leave
  /// nothing out.
  Report report() const;
  /// Of a collective as it was last started: what the output of rank `at` lacks, ascending by Gap::from, then by
  /// offset; nothing without a method. Each rank knows that of all ranks, without a message. For checks,
  /// reports and sharded data parallelism: the time grows with the cube of the number of ranks.
  Result<std::vector<Gap>> gaps(Rank at) const;

 private:
  friend class Communicator;
  Status check() const;
  Request(std::shared_ptr<GroupState> group, runtime::Run* run) : group_(std::move(group)), run_(run) {}

  std::shared_ptr<GroupState> group_;
  runtime::Run* run_ = nullptr;
};

/// A finished call that had asked to be notified.
struct Completion {
  std::uint64_t token = 0;
  Status status;
};

}  // namespace lacuna
