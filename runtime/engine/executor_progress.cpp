#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "kernels/backend.hpp"
#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
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
      kernels_(options.kernels ? *options.kernels : kernels::best_backend()),
      links_(size, options.credit_bytes),
      operations_(links_, *this),
      memory_(options.memory),
      stages_(memory_),
      landings_({.credit_bytes = options.credit_bytes, .most_descriptors = most_descriptors(options)}, links_, memory_,
                discards_),
      device_(options_, memory_),
      record_(options.time),
      tick_scale_(options.time),
      tracer_(options.trace_events > 0 ? std::make_unique<RunTracer>(options.trace_events, options.time) : nullptr),
      failures_(rank, deferred_),
      deadlines_(options_, rank, size, *transport_, communicators_, failures_),
      computing_({options_, kernels_, memory_, device_, record_, failures_, *this}),
      boards_({options_, kernels_, alarms_, record_, failures_, stages_, computing_, *this}, size),
      outgoing_({options_, *transport_, links_, operations_, stages_, computing_, device_, record_, tracer_.get(),
                 failures_, *this}),
      incoming_({options_, rank, kernels_, *transport_, links_, operations_, memory_, landings_, discards_, stages_,
                 computing_, device_, record_, failures_, *this}) {
  if (options_.progress_thread) return;  // the progress thread sleeps on these descriptors itself
  for (int fd : {transport_->event_fd(), computing_.event_fds()[0], alarms_.doorbell().event_fd()}) alarms_.watch(fd);
}

Executor::~Executor() {
  static_cast<void>(close(std::chrono::milliseconds(0)));
  release(false);
  if (keeps_memory_) leave_memory();
}

Status Executor::connect(std::vector<std::vector<std::byte>> addresses) {
  {
    Lock lock(*this);  // the watch may already call
    if (state_ != State::Running) return verdict_;
    if (Status connected = transport_->connect(std::move(addresses), *this); !connected) return connected;
    log_debug(Subsystem::Transport, "{} for {}, eager messages of {} bytes at most", transport_->name(),
              count_of(size_, "rank"), outgoing_.fragment_bytes());
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
      incoming_.abandon();
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
  keeps_memory_ = ending_ == Ending::Leave && operations_.in_use() > 0;
  log_debug(Subsystem::Transport, "{} has closed: {}", transport_->name(), closed.to_string());
  return closed;
}

std::string Executor::flight_record() const {
  Lock lock(*this);
  return record_.text();
}

/// Something has moved on a board, for which nobody has looked at the transport. Must it be looked at now? Else
/// messages would wait as long as a program makes nothing but calls on the board.
bool Executor::is_neglected() {
  constexpr std::uint32_t longest = 64;
  return ++neglected_ % longest == 0;
}

bool Executor::progress_locked() {
  const bool computed = computing_.is_busy() && computing_.end_works();
  if (computed) wake();
  if (state_.load(std::memory_order_relaxed) != State::Running) return false;
  bool moved = !boards_.empty() && boards_.advance();
  if (!moved || is_neglected()) {
    bool arrived = true;
    failures_.serve(nullptr, [&] { arrived = transport_->progress(); });
    moved = moved || arrived;
  }
  moved = moved || computed;
  if (moved || links_.needs_pump() || failures_.are_waiting()) {
    after_handlers();
    settle();
    if (failures_.has_thrown()) after_handlers();
    if (deadlines_.note_movement()) check_time();  // a deadline may pass while other calls keep moving
  }
  if (moved && !options_.progress_thread) alarms_.wake_loop();
  return moved;
}

void Executor::check_time() {
  if (deadlines_.look([this](MessageRun& run, const Status& status) { finish_run(run, status); })) after_handlers();
}

bool Executor::progress() {
  bool moved = false, computing = false;
  {
    Lock lock(*this);
    moved = progress_locked();
    computing = computing_.is_busy();
    if (!moved) check_time();
    if (deadlines_.has_runs()) absence_.make_progress(options_.time.ticks_now());
  }
  if (computing && computing_.advance()) {
    Lock lock(*this);
    moved = true;
    progress_locked();
  }
  flush_deferred();
  return moved;
}

std::optional<Finished> Executor::next_finished() {
  Lock lock(*this);
  return alarms_.next_finished();
}

bool Executor::arm() {
  Lock lock(*this);
  if (!alarms_.may_begin_sleep() || !deferred_.is_empty()) return false;
  if (!options_.progress_thread && !computing_.may_sleep()) return false;
  if (state_ == State::Running && !options_.progress_thread) {
    if (!may_sleep()) return false;
    alarms_.set_timer(deadlines_.next(), options_.time.coarse_now());
  }
  alarms_.begin_sleep();
  return true;
}

/// Wakes threads that sleep. After a post they may have something to move, or a nearer deadline.
void Executor::wake() {
  alarms_.wake_sleepers();
  if (!options_.progress_thread) alarms_.wake_loop();
}

/// Asks the transport and the compute for an event. Returns false if there is something to do before an event comes.
bool Executor::may_sleep() {
  if (state_ != State::Running || transport_->event_fd() < 0 || !options_.time.is_real()) return false;
  if (!computing_.may_sleep()) return false;
  if (!boards_.may_sleep()) return false;
  return !links_.needs_pump() && !failures_.are_waiting() && options_.time.coarse_now() < deadlines_.next() &&
         transport_->arm();
}

}  // namespace lacuna::runtime
