#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/registry/method_options.hpp"
#include "bindings/cpp/collectives.hpp"
#include "bindings/cpp/exchange.hpp"
#include "bindings/cpp/memory.hpp"
#include "bindings/cpp/messages.hpp"
#include "bindings/cpp/request.hpp"
#include "bindings/cpp/request_list.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/counters.hpp"
#include "runtime/values/exchange.hpp"
#include "runtime/values/job_counters.hpp"
#include "runtime/values/log.hpp"
#include "runtime/values/message.hpp"
#include "runtime/values/progress.hpp"
#include "runtime/values/status.hpp"
#include "runtime/values/unique_id.hpp"
#include "runtime/values/version.hpp"

/// lacuna: collectives that send only what matters. This header, with those that it includes, is the C++ interface for
/// embedding codes. Each method has a header of its own, <lacuna/algorithms/METHOD/METHOD.hpp>, which a program
/// includes if it uses the method's struct. Made from text by method_options(), a method needs no header.
///
/// Thread rule: several threads may use a Communicator. All ranks must post the calls of a communicator in the same
/// order, so threads that share one must agree on an order. A Request belongs to one thread at a time.
///
/// Process rule: a communicator and its requests belong to the process that joined. In a child that it makes by fork(),
/// every call is refused, with an error if it can return one. Whatever the child destroys, or leaves to exit(), changes
/// nothing for the parent.
namespace lacuna {

struct Algorithm;
struct GroupState;

/// Only constructors of this header throw it. All other functions that can
/// fail return a Status or a Result.
class Error : public std::runtime_error {
 public:
  explicit Error(Status status) : std::runtime_error(status.to_string()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

/// Sends the log lines of this process that LACUNA_LOG lets through to `callback`. Null restores standard error. One
/// kind of line goes to standard error in any case: that ranks did not agree although all their calls have ended well.
/// The callback runs on the thread that logs, which holds no lock of lacuna then. Lines of lacuna's own threads come on
/// a thread that does nothing else. So the callback may wait for a lock that another thread holds while that thread
/// calls lacuna. It must not call lacuna.
void set_log_callback(LogCallback callback, void* user);

/// How to join the job. Members that are left empty come from the environment: LACUNA_RANK, LACUNA_SIZE, LACUNA_STORE
/// (host:port where rank 0 listens), LACUNA_KEY, LACUNA_PROGRESS, LACUNA_BOOTSTRAP_TIMEOUT. If the environment does not
/// set them either, the launcher tells rank, size, and how the ranks find each other: torchrun, mpirun or srun by PMIx
/// or PMI-1, or Slurm's variables. Without a launcher the job has one rank. If a launcher announces several ranks but
/// no way by which they find each other, this is an error, because each would work alone. A size of 1 needs no rank and
/// ignores launchers.
///
/// With `broadcast` or `id` the ranks need no store and no key, and rank and size must be given:
/// - `broadcast` gives these 128 bytes of rank 0 to all ranks: rank 0 reads them, and all others overwrite them. Each
///   rank calls it once, on the thread that joins, even if it can't join. It returns whether that has worked. Beside
///   MPI it is MPI_Bcast. Rank 0 listens at a free port; a store such as "10.0.0.1:0" says at which of its addresses.
/// - `id` was made by rank 0 (make_unique_id()), and the program has brought it to all ranks.
struct WorldOptions {
  std::optional<Rank> rank{};
  std::optional<Rank> size{};
  std::string store{};
  std::string key{};
  std::optional<Progress> progress{};
  std::optional<std::chrono::milliseconds> timeout{};  ///< how long to wait for the other ranks
  std::function<bool(std::span<std::byte> bytes)> broadcast{};
  std::optional<UniqueId> id{};
  /// Ends the join with TimedOut when it returns true. The thread that joins asks it about 20 times a second while it
  /// waits for other ranks, for instance whether the user has pressed Ctrl-C.
  std::function<bool()> interrupted{};
};

/// Makes an id for one job whose rank 0 is this process. From now on rank 0 listens, at a free port of `address`,
/// such as "10.0.0.1" or "[fd00::1]", or of all addresses of this host if that is empty. The program gives the id to
/// all ranks by whatever means it has, and each joins with it.
Result<UniqueId> make_unique_id(const std::string& address = {});

/// What a receive from any rank has taken.
struct Received {
  Rank from = 0;
  std::size_t count = 0;  ///< elements
};

/// How to make ranks inside this process, on several threads or on one. This is for tests and first steps.
struct LocalOptions {
  Progress progress = Progress::Thread;
  Rank aggregators = 0;  ///< so many aggregators (aggregate()), each on a thread of its own
};

/// Joins the job as one of its aggregators, and serves until all ranks have left. An aggregator is no rank, and has no
/// data. Methods let aggregators do work that the ranks would do otherwise; they serve all communicators of the job.
/// LACUNA_AGGREGATORS, which is the same on all processes, tells their number. The options are those of a rank, but the
/// ranks are followed by the aggregators: in a job of 8 ranks, `rank` is 8 for the first one. Returns ok, or why this
/// process has not joined, or how the job has failed. A process may call it again, for the next job.
Status aggregate(const WorldOptions& options = {});

/// The ranks of a job and their collectives. All ranks make every call, in the same order, with equal arguments except
/// for pointers and for what Options names. After the first failure the communicator is poisoned on all its ranks:
/// every later call returns the reason. Mismatches, deadlines and broken connections end the communicator that they
/// concern. A rank that dies or stops ends the job, and with it all communicators of all ranks. Once rank 0 of the job
/// has left, nobody informs the others: each rank ends its communicators by itself.
///
/// If calls differ, all ranks get a Mismatch that names the call and both sides. Each message says what its sender has
/// called so far. So a call that waits for a rank, directly or through others, has been agreed on with it, and so have
/// all calls before. Some calls wait for nobody: the root's broadcast, a reduce on a rank that only sends, the first
/// ranks of a scan. Such a call may end well although others differ. Then the rank learns of it by its next call that
/// hears of them, at the latest. If no call follows, an error on the log names the call and both sides when the ranks
/// leave. For that rank 0 compares itself with all ranks that have left before it or leave with it, and the others
/// compare themselves with rank 0. One case remains unseen: members of a communicator without the job's rank 0 differ,
/// and one of them leaves after that rank. A barrier on that communicator before the end prevents this.
///
/// A blocking call that fails returns when nothing touches its buffers any more. Sometimes this cannot be known within
/// some seconds, because a rank does not answer or a network card may still write. Then the error says that the buffers
/// are still in use. They must live until Request::reclaimed(), or until the process ends.
class Communicator {
 public:
  /// Joins the job. Blocks until all ranks have joined, at most for LACUNA_BOOTSTRAP_TIMEOUT. Throws Error.
  explicit Communicator(const WorldOptions& options = {});
  /// Joins the job like the constructor, but without exceptions.
  static Result<Communicator> world(const WorldOptions& options = {});
  /// Makes `size` ranks inside this process and returns them in their order. With Progress::Caller one thread must test
  /// them in turn.
  static Result<std::vector<Communicator>> local(Rank size, const LocalOptions& options = {});

  /// When a communicator and its last Request are destroyed, the rank says goodbye to the other ranks.
  Communicator(Communicator&&) noexcept = default;
  Communicator& operator=(Communicator&&) noexcept = default;
  ~Communicator() = default;

  Rank rank() const;
  Rank size() const;
  /// This rank's number among the ranks of this communicator on its host, and how many these are. Programs choose a
  /// device or cores by them.
  Rank local_rank() const { return ranks_here(rank()); }
  Rank local_size() const { return ranks_here(size()); }
  /// Returns the host name of each rank.
  std::vector<std::string> hosts() const;
  /// Returns the number of each rank in the whole job. Error texts use these numbers.
  const std::vector<Rank>& job_ranks() const;
  /// Returns ok, or why this communicator is poisoned.
  Status status() const;

  /// Divides the ranks into communicators. Ranks that give the same colour are in the same one, ordered by key; ranks
  /// with equal keys keep their order. All ranks call this function; it blocks. With `no_group`, or any negative
  /// colour, a rank gets no communicator. The new communicators progress and fail independently of each other, but a
  /// rank that dies poisons all.
  ///
  ///     auto made = world.split(world.rank() % 2 == 0 ? 0 : Communicator::no_group);
  ///     if (!made) throw Error(made.status());  // on this rank the split has failed
  ///     if (std::optional<Communicator>& even = *made) {
  ///       Status status = even->call(barrier());  // of the even ranks
  ///     }
  Result<std::optional<Communicator>> split(int colour, int key = 0);
  /// Makes one communicator of these ranks, in this order. All ranks call this function with the same list. Ranks that
  /// are not in the list get none.
  Result<std::optional<Communicator>> subgroup(std::span<const Rank> ranks);
  static constexpr int no_group = -1;

  /// Returns the algorithm that would serve this call: the one that it names, else that of LACUNA_ALGORITHMS, else
  /// lacuna's choice.
  Result<std::string_view> algorithm_name(const Call& call) const;

  // A collective is called, started or prepared. A function such as allreduce() describes it, or the program fills a
  // Call itself.

  /// Starts a call and waits for its end.
  Status call(TypedCall typed);
  Status call(const Call& call);
  /// Starts a call. If it fails, nothing was sent, and the communicator is as before. By default nothing moves while
  /// the caller works: messages move only inside wait(), test(), progress() and other calls. With
  /// LACUNA_PROGRESS=thread (Progress::Thread) a thread of lacuna moves them meanwhile.
  Result<CallRequest> start(TypedCall typed);
  Result<CallRequest> start(const Call& call);
  /// Makes a call that PreparedCall::start starts, any number of times. Checks, choices and look-ups are done here
  /// once. Nothing is sent, and the other ranks need not do the same.
  Result<PreparedCall> prepare(TypedCall typed);
  Result<PreparedCall> prepare(const Call& call);

  // A message goes from one rank to another, or to itself. Each rank calls only its own side. Messages of one sender
  // with one tag are received in the order in which they were sent. Messages with different tags do not wait for each
  // other, nor for collectives. Messages need not be posted in the same order anywhere.

  /// Starts to send, or to receive at most as much as the buffer holds; ReceiveRequest::received_bytes says how much
  /// came. If it fails, nothing was sent or taken. By default nothing moves while the caller works: messages move only
  /// inside wait(), test(), progress() and other calls. With LACUNA_PROGRESS=thread (Progress::Thread) a thread of
  /// lacuna moves them meanwhile.
  Result<Request> start(const Send& message);
  Result<ReceiveRequest> start(const Receive& message);
  // These functions take the buffers of typed calls (TypedCall).

  /// Sends a message. Returns when `data` may be changed, which may be before the receiver has asked for it.
  template <class T = void, class Data>
  Status send(Data&& data, Rank to, int tag = 0, MessageOptions options = {}) {
    auto request = start_send<T>(std::forward<Data>(data), to, tag, std::move(options));
    return request ? request->wait() : request.status();
  }
  /// Starts to send. By default nothing moves while the caller works (LACUNA_PROGRESS); see start(const Send&).
  template <class T = void, class Data>
  Result<Request> start_send(Data&& data, Rank to, int tag = 0, MessageOptions options = {}) {
    return start(send_of<T>(std::forward<Data>(data), to, tag, std::move(options)));
  }
  /// Receives the next message from `from` with this tag into the front of `data`. Returns its number of elements.
  template <class T = void, class Data>
  Result<std::size_t> receive(Data&& data, Rank from, int tag = 0, MessageOptions options = {}) {
    auto request = start_receive<T>(std::forward<Data>(data), from, tag, std::move(options));
    if (!request) return request.status();
    if (Status ended = request->wait(); !ended) return ended;
    return request->received_bytes() / sizeof(ElementOf<Data>);
  }
  /// Receives the next message with this tag from any rank into the front of `data`.
  template <class T = void, class Data>
  Result<Received> receive_any(Data&& data, int tag = 0, MessageOptions options = {}) {
    auto request = start_receive<T>(std::forward<Data>(data), any_rank, tag, std::move(options));
    if (!request) return request.status();
    if (Status ended = request->wait(); !ended) return ended;
    return Received{request->source(), request->received_bytes() / sizeof(ElementOf<Data>)};
  }
  /// Starts to receive, also from any_rank. By default nothing moves while the caller works (LACUNA_PROGRESS); see
  /// start(const Receive&).
  template <class T = void, class Data>
  Result<ReceiveRequest> start_receive(Data&& data, Rank from, int tag = 0, MessageOptions options = {}) {
    return start(receive_of<T>(std::forward<Data>(data), from, tag, std::move(options)));
  }
  /// Starts to send one message and to receive another one, from the same rank or from different ones. The request has
  /// finished once both have. If it fails, nothing was sent or taken. Ranks that all do this at once do not wait for
  /// each other in a circle, whatever the lengths are. The buffers must not overlap.
  Result<ReceiveRequest> start(const Send& out, const Receive& in);
  /// Sends `out` to rank `to`, and receives the next message from rank `from` with this tag into the front of `in`.
  /// Returns its number of elements once both have ended. The ranks may be equal, and may be this one.
  template <class T = void, class Out, class In>
  Result<std::size_t> sendrecv(Out&& out, Rank to, In&& in, Rank from, int tag = 0, MessageOptions options = {}) {
    auto request = start_sendrecv<T>(std::forward<Out>(out), to, std::forward<In>(in), from, tag, std::move(options));
    if (!request) return request.status();
    if (Status ended = request->wait(); !ended) return ended;
    return request->received_bytes() / sizeof(ElementOf<In>);
  }
  /// Starts a sendrecv. By default nothing moves while the caller works (LACUNA_PROGRESS); see start(const Send&).
  template <class T = void, class Out, class In>
  Result<ReceiveRequest> start_sendrecv(Out&& out, Rank to, In&& in, Rank from, int tag = 0,
                                        MessageOptions options = {}) {
    return start(send_of<T>(std::forward<Out>(out), to, tag, options),
                 receive_of<T>(std::forward<In>(in), from, tag, options));
  }

  // A neighbour exchange sends one message to each neighbour and receives one from each. ProcessGrid and
  // neighbours_of() say who the neighbours are, and halo() says what is exchanged with one of them.

  /// Exchanges with all neighbours, and returns when all messages have ended.
  Status call(const Exchange& exchange);
  /// Starts an exchange. If it fails, nothing was sent or taken. The lists may be gone afterwards; the buffers must
  /// live. By default nothing moves while the caller works (LACUNA_PROGRESS); see start(const Send&).
  Result<Request> start(const Exchange& exchange);
  /// Makes an exchange that PreparedExchange::start starts, any number of times. It is checked here once, and the lists
  /// are copied. Nothing is sent, and the neighbours need not do the same.
  Result<PreparedExchange> prepare(const Exchange& exchange);

  /// Makes progress without waiting, and returns the bytes of the message that the next receive of this source and tag
  /// would take, if that message has come. Fails where that receive would be refused.
  Result<std::optional<std::size_t>> probe(Rank from, int tag = 0);

  /// Returns what the transport has counted, with all peers and aggregators together or with one peer. All is 0 for a
  /// rank that does not exist.
  Counters counters() const;
  Counters counters(Rank peer) const;
  /// Returns all counters of this rank, for its whole job: calls by communicator and collective, traffic by peer,
  /// waits.
  JobCounters job_counters() const;
  /// Begins largest and last values of measures anew: job_counters() then tells only those of calls that end later, on
  /// any communicator of this rank. Sums and means continue.
  void restart_measures();
  /// Returns job_counters() as text, for a program's own exporter. With LACUNA_METRICS, lacuna writes it when the rank
  /// leaves.
  std::string counters_text(CountersFormat format) const;

  // The following functions are for codes with a loop of their own, which serves all communicators of the job. The loop
  // calls arm(), and if that returns true it sleeps until event_fd() is readable. Then it calls progress() until that
  // returns false, and next_completion() until there is none, or Request::test().

  /// Makes one round of progress and checks deadlines. Returns true if anything moved.
  bool progress();
  /// Returns a descriptor. After arm() has returned true, it becomes readable when progress() has something to do. This
  /// includes a deadline that passes, a call that is started, and movement during a wait, in any thread. With
  /// Progress::Thread it becomes readable when a call has ended. It stays readable as long as a completion waits. Do
  /// not read or close it.
  int event_fd() const;
  /// Must be called before each sleep. If it returns false, there is something to do already, or a call has ended since
  /// the last time.
  bool arm();
  /// Returns what this rank did last, for bug reports, with one event a line.
  std::string flight_record() const;
  /// Takes the next finished call that asked for it by Options::notify, the oldest first.
  std::optional<Completion> next_completion();

 private:
  /// How many of the first `end` ranks are on this rank's host.
  Rank ranks_here(Rank end) const;
  Status check() const;
  Status complete(TypedCall& typed) const;
  Result<const Algorithm*> algorithm_of(const Call& call) const;
  Result<runtime::Run*> post(const Call& call);
  Result<runtime::Run*> post_anew(const Call& call);
  explicit Communicator(std::shared_ptr<GroupState> group) : group_(std::move(group)) {}

  std::shared_ptr<GroupState> group_;
};

}  // namespace lacuna
