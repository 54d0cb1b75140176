#include "runtime/engine/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "kernels/backend.hpp"
#include "runtime/engine/client.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/thread.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::chrono::microseconds closing_pause{20};  // between looks at the wire
constexpr std::size_t least_offer = 1 << 20;            // descriptors that any peer may let wait here

std::size_t most_descriptors(const ExecutorOptions& options) {
  return std::max(least_offer, std::size_t{64} * (options.max_runs + options.max_messages));
}

}  // namespace

Executor::Lock::Lock(const Executor& executor) : executor_(executor), lock_(executor.mutex_, std::try_to_lock) {
  if (!lock_.owns_lock()) lock();
}

void Executor::Lock::lock() {
  executor_.contenders_.fetch_add(1, std::memory_order_relaxed);
  lock_.lock();
  executor_.contenders_.fetch_sub(1, std::memory_order_relaxed);
}

/// Lets threads that wait for the lock go first. A polling thread calls this between two rounds, else it would starve
/// them.
void Executor::give_way() const {
  while (contenders_.load(std::memory_order_relaxed) > 0) std::this_thread::yield();
}

Executor::Executor(std::unique_ptr<Transport> transport, Rank rank, Rank size, const ExecutorOptions& options)
    : transport_(std::move(transport)),
      rank_(rank),
      size_(size),
      options_(options),
      links_(size, options.credit_bytes),
      memory_(options.memory),
      landings_({.credit_bytes = options.credit_bytes, .most_descriptors = most_descriptors(options)}, links_, memory_,
                discards_),
      device_(options_, memory_),
      record_(options.time),
      tick_scale_(options.time),
      tracer_(options.trace_events > 0 ? std::make_unique<RunTracer>(options.trace_events, options.time) : nullptr),
      failures_(rank, deferred_),
      deadlines_(options_, rank, size, *transport_, communicators_, failures_),
      scheduler_({.options = options_,
                  .rank = rank,
                  .size = size,
                  .kernels = options.kernels ? *options.kernels : kernels::best_backend(),
                  .transport = *transport_,
                  .links = links_,
                  .memory = memory_,
                  .landings = landings_,
                  .discards = discards_,
                  .device = device_,
                  .record = record_,
                  .tracer = tracer_.get(),
                  .deferred = deferred_,
                  .failures = failures_,
                  .deadlines = deadlines_,
                  .absence = absence_,
                  .alarms = alarms_,
                  .ended = ended_}),
      statements_(rank, communicators_, failures_, scheduler_.outgoing()),
      arrivals_({.credit_bytes = options.credit_bytes,
                 .communicators = communicators_,
                 .links = links_,
                 .landings = landings_,
                 .discards = discards_,
                 .record = record_,
                 .failures = failures_,
                 .deadlines = deadlines_,
                 .scheduler = scheduler_,
                 .statements = statements_}) {
  if (options_.progress_thread) return;  // the progress thread sleeps on these descriptors itself
  for (int fd : {transport_->event_fd(), scheduler_.computing().event_fds()[0], alarms_.doorbell().event_fd()})
    alarms_.watch(fd);
}

Executor::~Executor() {
  static_cast<void>(close(std::chrono::milliseconds(0)));
  release(false);
  if (keeps_memory_) scheduler_.leave_memory();
}

Status Executor::connect(std::vector<std::vector<std::byte>> addresses) {
  {
    Lock lock(*this);  // the watch may already call
    if (state_ != State::Running) return verdict_;
    if (Status connected = transport_->connect(std::move(addresses), arrivals_); !connected) return connected;
    log_debug(Subsystem::Transport, "{} for {}, eager messages of {} bytes at most", transport_->name(),
              count_of(size_, "rank"), scheduler_.outgoing().fragment_bytes());
  }
  if (!options_.progress_thread) return {};
  try {
    thread_ = start_thread([this] { progress_loop(); });
  } catch (const std::system_error& error) {
    return {Code::Internal, fmt::format("the thread that makes progress can't be started: {}", error.what())};
  }
  return {};
}

Status Executor::close(std::chrono::milliseconds deadline) {
  {
    Lock lock(*this);
    if (state_ == State::Closed) return {};
    if (state_ == State::Running) {
      state_ = State::Closing;
      scheduler_.incoming().abandon();
    }
  }
  alarms_.wake_next_sleeper();
  if (thread_.joinable()) {
    thread_.join();
    finish_log_lines();
  }
  Lock lock(*this);
  if (state_ != State::Closing) return verdict_;
  const auto pause = [&] {
    lock.unlock();
    std::this_thread::sleep_for(closing_pause);
    lock.lock();
    return state_ == State::Closing;
  };
  const auto longest = was_left_waiting_ ? std::min(deadline, close_grace) : deadline;
  const Status closed = transport_->close(longest, pause, ending_);
  if (state_ == State::Failed) return verdict_;
  state_ = State::Closed;
  keeps_memory_ = ending_ == Ending::Leave && scheduler_.operations().in_use() > 0;
  log_debug(Subsystem::Transport, "{} has closed: {}", transport_->name(), closed.to_string());
  return closed;
}

std::string Executor::flight_record() const {
  Lock lock(*this);
  return record_.text();
}

Status Executor::serve(const Memory& memory, std::span<const void* const> addresses) {
  if (is_on_device(memory.kind) && !device_.compute()) {
    const auto found = device_.find(memory);
    if (!found) return found.status();
    open_device(**found);
  }
  return device_.check(memory, addresses);
}

void Executor::open_device(kernels::Device& device) {
  Lock lock(*this);
  if (device_.compute()) return;
  const Status direct = transport_->viable({.kind = MemoryKind::Cuda, .device = device.number()});
  device_.open(device, direct.is_ok());
  if (!options_.progress_thread) alarms_.watch(device_.compute()->event_fd());
  log_info(Subsystem::Executor, "calls compute on device {} ({}); messages {}", device.number(), device.name(),
           direct ? "leave from its memory" : fmt::format("go through pinned memory: {}", direct.message()));
}

Status Executor::hold(Run& first, void* stream) {
  if (!options_.progress_thread) {
    return {Code::Unsupported,
            "a stream can wait for a call only where a thread makes progress; set LACUNA_PROGRESS=thread, or wait for "
            "the request on the host"};
  }
  Lock lock(*this);
  return device_.hold(first, stream);
}

void Executor::begin(Run& first) {
  scheduler_.begin(first);
  after_handlers();
  if (first.finished && !options_.progress_thread && is_neglected()) progress_locked();
  wake();
}

bool Executor::neighbours_map_copies(const Client& communicator) {
  if (!probe_) probe_ = memory_.of(MemoryKind::Host, true).take(1);
  const Hosts& hosts = communicator.hosts();
  const Rank host = hosts.host_of(communicator.rank());
  bool all = true;
  for (Rank member = 0; member < communicator.size(); ++member) {
    if (member == communicator.rank() || hosts.host_of(member) != host) continue;
    const auto peer = static_cast<Peer>(communicator.group().process_of(member));
    all = transport_->is_mapped_by(peer, {probe_, 1}) && all;
  }
  return all;
}

void Executor::tell_members(std::uint64_t communicator, std::uint32_t run) {
  {
    Lock lock(*this);
    Client* const client = communicators_.find(communicator);
    if (state_ == State::Running && client) statements_.tell_members(*client, run);
  }
  flush_deferred();
}

Counters Executor::counters(Rank peer) const {
  Lock lock(*this);
  return traffic_with(peer);
}

/// Each row of a board counts as sent to every other member.
Counters Executor::traffic_with(Rank peer) const {
  Counters traffic = transport_->counters(static_cast<Peer>(peer));
  if (peer == rank_) return traffic;
  const RowBytes rows = scheduler_.boards().bytes_with(peer, communicators_);
  traffic.payload_sent += rows.written;
  traffic.payload_received += rows.read;
  return traffic;
}

JobCounters Executor::job_counters() const {
  Lock lock(*this);
  const TickScale::Line scale = tick_scale_.line();
  JobCounters all{.rank = rank_,
                  .size = size_,
                  .communicators = communicators_.counters(scale),
                  .wait_seconds = scale.seconds(waited_),
                  .overlappable_seconds = scale.seconds(overlappable_),
                  .parked_messages = landings_.tally().messages,
                  .parked_bytes = landings_.tally().bytes,
                  .waiting_messages = landings_.in_use(),
                  .duplicate_fragments = arrivals_.duplicate_fragments(),
                  .descriptor_messages = scheduler_.outgoing().descriptor_messages(),
                  .mapped_messages = scheduler_.outgoing().mapped_messages(),
                  .staged_bytes = scheduler_.staged_bytes(),
                  .stalls = deadlines_.stalls()};
  for (Rank peer = 0; peer < size_; ++peer) all.peers.push_back(traffic_with(peer));
  return all;
}

void Executor::restart_measures() {
  Lock lock(*this);
  communicators_.restart_measures();
}

}  // namespace lacuna::runtime
