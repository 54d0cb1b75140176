#include <algorithm>
#include <array>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"

// Someone makes progress during a wait: the thread that waits, or the progress thread for all of them.
namespace lacuna::runtime {
namespace {

constexpr std::chrono::milliseconds longest_sleep{10};  // bounds what a lost wake-up can cost
constexpr std::chrono::microseconds yielding{200};      // after spinning, before sleeping
constexpr std::chrono::milliseconds virtual_look{1};    // between looks at a virtual clock

}  // namespace

/// Something has moved on a board, for which nobody has looked at the transport. Must it be looked at now? Else
/// messages would wait as long as a program makes nothing but calls on the board.
bool Executor::is_neglected() {
  constexpr std::uint32_t longest = 64;
  return ++neglected_ % longest == 0;
}

bool Executor::progress_locked() {
  const bool computed = scheduler_.computing().is_busy() && scheduler_.computing().end_works();
  if (computed) wake();
  if (state_.load(std::memory_order_relaxed) != State::Running) return false;
  bool moved = !scheduler_.boards().empty() && scheduler_.boards().advance();
  if (!moved || is_neglected()) {
    bool arrived = true;
    failures_.serve(nullptr, [&] { arrived = transport_->progress(); });
    moved = moved || arrived;
  }
  moved = moved || computed;
  if (moved || links_.needs_pump() || failures_.are_waiting()) {
    after_handlers();
    scheduler_.settle();
    if (failures_.has_thrown()) after_handlers();
    if (deadlines_.note_movement()) check_time();  // a deadline may pass while other calls keep moving
  }
  if (moved && !options_.progress_thread) alarms_.wake_loop();
  return moved;
}

void Executor::check_time() {
  if (deadlines_.look([this](MessageRun& run, const Status& status) { scheduler_.end(run, status); })) after_handlers();
}

bool Executor::progress() {
  bool moved = false, computing = false;
  {
    Lock lock(*this);
    moved = progress_locked();
    computing = scheduler_.computing().is_busy();
    if (!moved) check_time();
    if (deadlines_.has_runs()) absence_.make_progress(options_.time.ticks_now());
  }
  if (computing && scheduler_.computing().advance()) {
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
  if (!options_.progress_thread && !scheduler_.computing().may_sleep()) return false;
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
  if (!scheduler_.computing().may_sleep()) return false;
  if (!scheduler_.boards().may_sleep()) return false;
  return !links_.needs_pump() && !failures_.are_waiting() && options_.time.coarse_now() < deadlines_.next() &&
         transport_->arm();
}

bool Executor::wait(const std::function<bool()>& done, Clock::time_point until) {
  if (!tracer_ && is_over(done)) return true;
  std::uint64_t begin = tracer_ ? options_.time.ticks_now() : 0;  // else read once something must be waited for
  bool looked_in_vain = false;  // by this thread, so not where the progress thread looks
  const auto ended = [&] {
    const bool over = done();
    if (begin == 0 && !over) begin = options_.time.ticks_now();
    if (!over && !looked_in_vain && !options_.progress_thread) {
      looked_in_vain = true;
      absence_.begin_wait(begin);
    }
    if (begin != 0 && over) count_wait(begin, looked_in_vain);
    return over;
  };
  if (wait_for(ended, until)) return true;
  Lock lock(*this);
  record_.tick();
  count_wait(begin, looked_in_vain);
  return false;
}

/// Counts the time up to the last event, which is what was waited for.
void Executor::count_wait(std::uint64_t begin, bool looked_in_vain) {
  const std::uint64_t waited = ticks_between(begin, record_.ticks());
  waited_ += waited;
  if (looked_in_vain) overlappable_ += absence_.end_wait(record_.ticks(), waited);
  if (tracer_) tracer_->waited(begin);
}

/// Has already happened what a thread is about to wait for?
bool Executor::is_over(const std::function<bool()>& done) {
  bool over = false;
  {
    Lock lock(*this);
    over = done();
  }
  flush_deferred();
  return over;
}

/// Waits while the progress thread makes the progress.
template <class Done>
bool Executor::wait_beside_thread(const Done& done, Clock::time_point until) {
  Lock lock(*this);
  if (options_.time.is_real()) return ended_.wait_until(lock.native(), until, done);
  while (!done()) {
    if (options_.time.now() >= until) return false;
    ended_.wait_for(lock.native(), virtual_look);
  }
  return true;
}

template <class Done>
bool Executor::wait_for(const Done& done, Clock::time_point until) {
  if (options_.progress_thread) return wait_beside_thread(done, until);
  const int rounds_under_lock = options_.spin > Clock::duration::zero() ? 16 : 2;  // others want the processor
  Clock::time_point idle_since{};
  for (std::uint32_t idle_rounds = 0;; ++idle_rounds) {
    give_way();
    bool ended = false, computing = false;
    {
      Lock lock(*this);
      for (int round = 0; round < rounds_under_lock && !computing && !(ended = done()); ++round) {
        if (progress_locked()) idle_rounds = 0;
        computing = scheduler_.computing().is_busy();
      }
    }
    flush_deferred();
    if (ended) return true;
    if (computing && scheduler_.computing().advance()) idle_rounds = 0;
    const auto now = options_.time.now();
    if (now >= until) return ended_by_now(done);
    if (idle_rounds == 0) {
      idle_since = now;
    } else {
      idle(now - idle_since, until - now);
    }
  }
}

/// Takes a last look before a wait ends without success. The thread may have carried out a work, and a program may only
/// ever make short waits.
template <class Done>
bool Executor::ended_by_now(const Done& done) {
  bool ended = false;
  {
    Lock lock(*this);
    if (scheduler_.computing().is_busy()) progress_locked();
    check_time();
    ended = done();
  }
  flush_deferred();
  return ended;
}

/// Passes the time between two rounds in which nothing moved. A thread first spins, then yields, then sleeps.
void Executor::idle(Clock::duration idle_for, Clock::duration longest) {
  if (idle_for < options_.spin) return;
  if (idle_for < options_.spin + yielding) return std::this_thread::yield();
  {
    Lock lock(*this);
    check_time();
  }
  flush_deferred();
  sleep_on_events(std::min<Clock::duration>(longest, longest_sleep));
}

void Executor::sleep_on_events(Clock::duration longest) {
  Alarms::Sleeper sleeper(alarms_);
  bool armed = false;
  int transport_fd = -1;
  {
    Lock lock(*this);
    // A job that has failed waits for release(), and for works that use the callers' memory.
    armed = state_ == State::Running ? may_sleep() : scheduler_.computing().may_sleep();
    transport_fd = transport_->event_fd();
  }
  const auto [host_fd, device_fd] = scheduler_.computing().event_fds();
  const std::array fds = {transport_fd, host_fd, device_fd};
  armed ? sleeper.sleep(fds, longest) : std::this_thread::yield();
}

/// After a failure the loop goes on until no step computes any more, because such steps use the callers' buffers.
/// Another thread may begin one until the state changes, so both are looked at under one lock.
void Executor::progress_loop() {
  Clock::time_point idle_since = options_.time.now();
  for (bool goes_on = true; goes_on;) {
    give_way();
    bool moved = false, computing = false;
    {
      Lock lock(*this);
      moved = progress_locked();
      computing = scheduler_.computing().is_busy();
      goes_on = state_ == State::Running || computing;
    }
    flush_deferred();
    if (computing && scheduler_.computing().advance()) moved = true;
    if (moved) {
      idle_since = options_.time.now();
    } else if (goes_on) {
      idle(options_.time.now() - idle_since, Clock::duration::max());
    }
  }
}

}  // namespace lacuna::runtime
