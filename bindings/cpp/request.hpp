#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
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
class RequestList;

/// A program holds a Request for each call or message that it has started. It is the request of a send, and the base of
/// those below. Each of them can be moved into a Request, for instance into a std::vector<Request> of all that is in
/// flight. A request that was moved from is empty. The destructor of an unfinished request waits for it, at most until
/// its deadline, and after a failure as wait() does. Then its buffers may be freed, unless wait() says that they are in
/// use. An assignment destroys what the request has held before.
class Request {
 public:
  Request() = default;
  Request(Request&& other) noexcept : group_(std::move(other.group_)), run_(std::exchange(other.run_, nullptr)) {}
  Request& operator=(Request&& other) noexcept {
    Request taken(std::move(other));
    std::swap(group_, taken.group_);
    std::swap(run_, taken.run_);
    return *this;
  }
  ~Request();

  /// Makes progress. Returns true once the request has finished, with or without an error. An empty Request is
  /// finished.
  bool test();
  /// Waits for the end. The deadline ends it with TimedOut at the latest. This poisons the communicator, unless the
  /// request is a receive of which nothing has come. After a failure it returns when the buffers are reclaimed. If that
  /// takes more than some seconds, it returns without that and says so.
  Status wait();
  /// Waits like wait(), but for `timeout` at most. TimedOut may then mean only that the call still runs.
  Status wait(std::chrono::microseconds timeout);
  /// Makes a stream of the program, a cudaStream_t, wait for the end of the request: work that enters the stream after
  /// this call begins once the request has finished, also if it fails, which wait() tells. The host does not wait.
  /// Needs LACUNA_PROGRESS=thread, and a call before whose data lay on a device. An error changes nothing.
  Status hold_stream(void* stream);
  /// Returns true, after a failure, once nothing touches the buffers any more. It may stay false until the process
  /// ends, if a network card, or a rank that did not answer, can reach them.
  bool reclaimed();

 protected:
  Status check() const;

  std::shared_ptr<GroupState> group_;
  runtime::Run* run_ = nullptr;

 private:
  friend class Communicator;
  friend class PreparedExchange;
  friend class RequestList;
  Request(std::shared_ptr<GroupState> group, runtime::Run* run) : group_(std::move(group)), run_(run) {}
};

/// The request of a receive, or of a send and a receive that began together. That has finished once both have.
class ReceiveRequest : public Request {
 public:
  /// Returns the bytes that the receive has taken if it has ended well, else 0.
  std::size_t received_bytes() const;
  /// Returns the rank whose message the receive has taken if it has ended well, else any_rank.
  Rank source() const;

 private:
  using Request::Request;
};

/// The request of a collective.
class CallRequest : public Request {
 public:
  /// Returns what the method has left out of a call that has ended well. It is empty if the call was to leave nothing
  /// out.
  Report report() const;
  /// Returns the name of the algorithm that carries out the call, as `lacuna list` shows it. It is empty for an empty
  /// request.
  std::string_view algorithm() const;
  /// Lists what the output of rank `at` lacks after this call, ascending by Gap::from, then by offset. Without a method
  /// the list is empty. Each rank knows the lists of all ranks without a message. Use it for checks, reports and
  /// sharded data parallelism: the time grows with the cube of the number of ranks.
  Result<std::vector<Gap>> gaps(Rank at) const;

 private:
  using Request::Request;
};

/// A collective that Communicator::prepare has made. It counts as ended until its first start(). Then it is the request
/// of the last start: report() and gaps() speak of that one, and report() is valid until the next. Its buffers, and its
/// sampler or state, must live until it is destroyed.
class PreparedCall : public CallRequest {
 public:
  /// Starts the call. It can be started again once it has ended. The rules of the call itself hold: all ranks start it
  /// in the same order, and some of them may make the call instead. If start() fails, nothing was sent. After Busy, try
  /// again. By default nothing moves while the caller works; LACUNA_PROGRESS=thread changes this (Communicator::start).
  Status start();

 private:
  using CallRequest::CallRequest;
};

/// A finished call that asked for it by Options::notify.
struct Completion {
  std::uint64_t token = 0;
  Status status;
};

}  // namespace lacuna
