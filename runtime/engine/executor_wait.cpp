#include <algorithm>
#include <array>

#include "runtime/engine/executor.hpp"

// Someone makes progress during a wait: the thread that waits, or the progress thread for all of them.
namespace lacuna::runtime {
namespace {

constexpr std::chrono::milliseconds longest_sleep{10};  // bounds what a lost wake-up can cost
constexpr std::chrono::microseconds yielding{200};      // after spinning, before sleeping
constexpr std::chrono::milliseconds virtual_look{1};    // between looks at a virtual clock

}  // namespace

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
        computing = computing_.is_busy();
      }
    }
    flush_deferred();
    if (ended) return true;
    if (computing && computing_.advance()) idle_rounds = 0;
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
    if (computing_.is_busy()) progress_locked();
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
    armed = state_ == State::Running ? may_sleep() : computing_.may_sleep();
    transport_fd = transport_->event_fd();
  }
  const auto [host_fd, device_fd] = computing_.event_fds();
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
      computing = computing_.is_busy();
      goes_on = state_ == State::Running || computing;
    }
    flush_deferred();
    if (computing && computing_.advance()) moved = true;
    if (moved) {
      idle_since = options_.time.now();
    } else if (goes_on) {
      idle(options_.time.now() - idle_since, Clock::duration::max());
    }
  }
}

}  // namespace lacuna::runtime
