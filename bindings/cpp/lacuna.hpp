#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/methods.hpp"
#include "bindings/cpp/collectives.hpp"
#include "bindings/cpp/request.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/counters.hpp"
#include "runtime/values/job_counters.hpp"
#include "runtime/values/log.hpp"
#include "runtime/values/message.hpp"
#include "runtime/values/progress.hpp"
#include "runtime/values/status.hpp"

/// lacuna: collectives that send only what matters. This header, with those that it includes, is the whole C++
/// interface for embedding codes.
///
/// Thread rule: a Communicator may be used from several threads; calls of one communicator must be posted in the same
/// order on all ranks, so threads that share one agree on an order. A Request belongs to one thread at a time.
///
/// Process rule: a communicator and its requests are the process's that joined. In a child that it makes by fork()
/// every call is refused, with an error where it can return one, and what the child destroys, or leaves to exit(),
/// changes nothing for the parent.
namespace lacuna {

struct Algorithm;
struct GroupState;

/// "0.1.0"
std::string_view version();

/// Thrown by constructors of this header only; everything else returns a Status.
class Error : public std::runtime_error {
 public:
  explicit Error(Status status) : std::runtime_error(status.to_string()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

/// Sends the log lines of this process that LACUNA_LOG lets through to `callback`; null restores standard error. That
/// ranks did not agree, where all their calls have ended well, stands on standard error in any case. The callback runs
/// on the thread that logs, while that holds no lock of lacuna; what lacuna's own threads log it gets on a thread that
/// does nothing else. So it may wait for a lock that another thread holds while that calls lacuna. It must not call
/// lacuna.
void set_log_callback(LogCallback callback, void* user);

/// How to join the job. What is left empty comes from the environment: LACUNA_RANK, LACUNA_SIZE, LACUNA_STORE
/// (host:port where rank 0 listens), LACUNA_KEY, LACUNA_PROGRESS. With nothing set anywhere: a job of one rank, unless
/// a launcher (mpirun, srun, torchrun ...) announces several; then that is an error, as each would work alone. A size
/// of 1 needs no rank and asks no launcher.
struct WorldOptions {
  std::optional<Rank> rank{};
  std::optional<Rank> size{};
  std::string store{};
  std::string key{};
  std::optional<Progress> progress{};
};

/// Ranks of threads or of one thread inside this process, for tests and first steps.
struct LocalOptions {
  Progress progress = Progress::Thread;
};

/// The ranks of a job and their collectives. Every call is made by all ranks, in the same order, with equal arguments
/// but for the pointers (and what Options names). After the first failure the communicator is poisoned on all its
/// ranks: every later call returns why. Mismatches, deadlines and broken connections end the communicator that they
/// concern; a rank that dies or stops ends the job, and with it all communicators of all ranks. Once rank 0 of the job
/// has left, nobody tells the others: each rank ends its communicators by itself.
///
/// Where calls differ, all ranks get a Mismatch that names the call and both sides. Each message carries what its
/// sender has called so far, so a call that waits for a rank, directly or through others, has been agreed on with it,
/// and so have all before it. A call that waits for nobody (the root's broadcast, a reduce on a rank that only sends,
/// the first ranks of a scan) may end well although others differ: this rank is told by its next call that hears of
/// them, at the latest. Where none follows, those who leave last say it, as an error on the log that names the call and
/// both sides: rank 0 compares with all that have left before it or leave with it, the others with rank 0. What nobody
/// can see: that members of a communicator without the job's rank 0 differed, if one of them leaves after that rank; a
/// barrier there before the end makes sure.
///
/// A blocking call that fails returns when nothing touches its buffers any more. Where that can't be known within some
/// seconds, since a rank does not answer or a network card may still write, its text says that they are still in use:
/// then they must live until Request::reclaimed(), or to the end of the process.
class Communicator {
 public:
  /// Joins the job and blocks until all ranks are there, at most LACUNA_BOOTSTRAP_TIMEOUT. Throws Error.
  explicit Communicator(const WorldOptions& options = {});
  /// The same without exceptions.
  static Result<Communicator> world(const WorldOptions& options = {});
  /// `size` communicating ranks inside this process, by rank. With Progress::Caller one thread must test them in turn.
  static Result<std::vector<Communicator>> local(Rank size, const LocalOptions& options = {});

  /// Destroying the communicator (and its last Request) says goodbye to the other ranks.
  Communicator(Communicator&&) noexcept = default;
  Communicator& operator=(Communicator&&) noexcept = default;
  ~Communicator() = default;

  Rank rank() const;
  Rank size() const;
  /// Host name of each rank.
  std::vector<std::string> hosts() const;
  /// Each rank's number in the whole job, by which messages name it.
  const std::vector<Rank>& job_ranks() const;
  /// Ok, or why this communicator is poisoned.
  Status status() const;

  /// Communicators of some ranks each: those that give the same colour are together, numbered by key and, where keys
  /// are equal, by their rank here. Called by all ranks, blocking. With `no_group` (or any negative colour) a rank gets
  /// none. The new communicators progress and fail independently of each other; a rank that dies poisons all.
  Result<std::optional<Communicator>> split(int colour, int key = 0);
  /// One communicator of these ranks, in this order. Called by all ranks with the same list; the others get none, with
  /// an empty list all.
  Result<std::optional<Communicator>> subgroup(std::span<const Rank> ranks);
  static constexpr int no_group = -1;

  /// Which algorithm would serve this call: the one that it names, else LACUNA_ALGORITHMS', else lacuna's choice.
  Result<std::string_view> algorithm_name(const Call& call) const;

  // Three ways to carry out a collective, which a function such as allreduce() describes, or a Call by hand.

  /// Starts a call and waits for its end.
  Status call(TypedCall typed);
  Status call(const Call& call);
  /// Starts a call. An error here means that nothing was sent and the communicator is as before.
  Result<Request> start(TypedCall typed);
  Result<Request> start(const Call& call);
  /// Makes a request that Request::start starts, any number of times: what is to be checked, chosen and looked up is so
  /// here once. Nothing is sent, and the other ranks need not do the same.
  Result<Request> prepare(TypedCall typed);
  Result<Request> prepare(const Call& call);

  // Messages between two ranks, each of which calls its side only. Those of one sender with one tag are received in the
  // order in which they were sent; tags, and a communicator's collectives, do not wait for each other. A rank may send
  // to itself. Calls need not be posted in the same order anywhere.

  /// Starts to send, or to receive at most as much as the buffer holds (Request::received_bytes says how much it was).
  /// An error here means that nothing was sent or taken.
  Result<Request> start(const Send& message);
  Result<Request> start(const Receive& message);
  /// Sends; returns when `data` may be rewritten, which may be before the receiver has asked for it.
  template <class T>
  Status send(std::span<const T> data, Rank to, int tag = 0, MessageOptions options = {}) {
    auto request = start_send(data, to, tag, std::move(options));
    return request ? request->wait() : request.status();
  }
  template <class T>
  Result<Request> start_send(std::span<const T> data, Rank to, int tag = 0, MessageOptions options = {}) {
    return start(Send{data.data(), data.size(), DtypeOf<T>::value, to, tag, {}, std::move(options)});
  }
  /// Receives the next message from `from` with this tag into the front of `data`; returns its number of elements.
  template <class T>
  Result<std::size_t> receive(std::span<T> data, Rank from, int tag = 0, MessageOptions options = {}) {
    auto request = start_receive(data, from, tag, std::move(options));
    if (!request) return request.status();
    if (Status ended = request->wait(); !ended) return ended;
    return request->received_bytes() / sizeof(T);
  }
  template <class T>
  Result<Request> start_receive(std::span<T> data, Rank from, int tag = 0, MessageOptions options = {}) {
    return start(Receive{data.data(), data.size(), DtypeOf<T>::value, from, tag, {}, std::move(options)});
  }
  /// Makes progress, and does not wait: the bytes of the message that the next receive of this source and tag would
  /// take, if it has come. An error where that receive would be refused.
  Result<std::optional<std::size_t>> probe(Rank from, int tag = 0);

  /// What the transport has counted: with all peers together, or with one; nothing with a rank that there is not.
  Counters counters() const;
  Counters counters(Rank peer) const;
  /// All that this rank counts, of its whole job: calls by communicator and collective, traffic by peer, waits.
  JobCounters job_counters() const;
  /// The same as text, for a program's own exporter; LACUNA_METRICS writes it when the rank leaves.
  std::string counters_text(CountersFormat format) const;

  // For codes with a loop of their own, which serves all communicators of the job. It repeats: arm(), and if that
  // returned true a sleep until event_fd() is readable; progress() until it returns false; next_completion() until
  // there is none, or Request::test().

  /// One round of progress, which also keeps deadlines; true if anything moved.
  bool progress();
  /// Becomes readable, after arm() returned true, when progress() has something to do: also when a deadline passes, and
  /// when another thread starts a call or has moved anything; with Progress::Thread when a call has ended. It is
  /// readable as long as a completion waits. Not to be read or closed.
  int event_fd() const;
  /// To be called before each sleep. False: there is something to do already, or a call has ended since the last time.
  bool arm();
  /// What this rank did last, for bug reports: one event a line.
  std::string flight_record() const;
  /// The next finished call that had asked to be notified, oldest first.
  std::optional<Completion> next_completion();

 private:
  Status check() const;
  Result<Call> counted(TypedCall typed) const;
  Result<const Algorithm*> algorithm_of(const Call& call) const;
  explicit Communicator(std::shared_ptr<GroupState> group) : group_(std::move(group)) {}

  std::shared_ptr<GroupState> group_;
};

}  // namespace lacuna
