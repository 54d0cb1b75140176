#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "runtime/engine/pool.hpp"
#include "runtime/values/clock.hpp"
#include "runtime/values/fd.hpp"
#include "runtime/values/status.hpp"
#include "transports/doorbell.hpp"

namespace lacuna::runtime {

/// A run that has ended and whose caller asked to be told.
struct Finished {
  std::uint64_t token = 0;
  Status status;
};

/// What wakes those who sleep until there is something to do: threads that wait inside lacuna, and the application's
/// loop, which sleeps on event_fd(). It owns the descriptors for that, and the tokens of finished runs.
/// Thread rule: the executor's lock guards all of it. Only event_fd(), doorbell(), call_attention(), wake_sleepers(),
/// wake_next_sleeper() and Sleeper need no lock.
class Alarms {
 public:
  Alarms();

  /// The application's descriptor. It is readable after something has called for attention, while a token waits, when
  /// the timer has run out, and while one of the descriptors of watch() is readable.
  int event_fd() const { return event_.get(); }
  /// Includes another descriptor in event_fd(). A negative one changes nothing.
  void watch(int fd);
  void forget(int fd);
  /// The doorbell of this rank. Who sleeps inside, or on event_fd(), wakes when another rank rings it.
  const Doorbell& doorbell() const { return doorbell_; }

  /// A run has ended whose caller wants this token.
  void push(const Finished& finished);
  std::optional<Finished> next_finished();

  /// Wakes the loop, if it sleeps or is about to.
  void wake_loop();
  /// Wakes the loop. If it does not sleep, its next arm() returns false.
  void call_attention() { signal(attention_); }
  /// A run has ended: the next begin_sleep() is refused.
  void note_end() { run_has_ended_ = true; }
  /// Is there no reason for the loop to stay awake? Each reason counts once.
  bool may_begin_sleep();
  /// The loop sleeps from now on, or is about to.
  void begin_sleep() { loop_sleeps_ = true; }
  /// Makes event_fd() readable at this time, or a little later. It may become readable earlier.
  void set_timer(Clock::time_point at, Clock::time_point now);

  /// A thread that is about to sleep inside. While such an object exists, wake_sleepers() wakes it.
  class Sleeper {
   public:
    explicit Sleeper(Alarms& alarms) : alarms_(alarms) { alarms_.sleepers_.fetch_add(1); }
    ~Sleeper() { alarms_.sleepers_.fetch_sub(1); }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    /// Sleeps until one of the descriptors is readable, somebody wakes this thread, or the time is over. A negative
    /// descriptor does not count.
    void sleep(const std::array<int, 3>& descriptors, Clock::duration longest);

   private:
    Alarms& alarms_;
  };
  /// Wakes the threads that sleep inside, if there are any.
  void wake_sleepers() {
    if (sleepers_.load(std::memory_order_relaxed) > 0) signal(wake_);
  }
  /// The next thread that begins to sleep inside wakes at once.
  void wake_next_sleeper() { signal(wake_); }

 private:
  static void signal(const Fd& fd);
  static bool take_signals(const Fd& fd);

  const Fd event_;        // epoll over token_waits_, attention_, timer_ and the descriptors of watch()
  const Fd token_waits_;  // readable while finished_ holds something
  const Fd attention_;    // readable after something has happened elsewhere, until may_begin_sleep()
  const Fd timer_;        // readable from timer_at_ on
  const Fd wake_;         // wakes whoever sleeps inside
  Doorbell doorbell_;
  Fifo<Finished> finished_;
  bool run_has_ended_ = false;  // since the last may_begin_sleep()
  bool loop_sleeps_ = false;    // on event_fd(), or is about to
  Clock::time_point timer_at_ = Clock::time_point::max();
  std::atomic<int> sleepers_{0};
};

}  // namespace lacuna::runtime
