#include "runtime/engine/alarms.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace lacuna::runtime {
namespace {

Fd new_event() { return Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

timespec in_timespec(Clock::duration time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
}

}  // namespace

Alarms::Alarms()
    : event_(::epoll_create1(EPOLL_CLOEXEC)),
      token_waits_(new_event()),
      attention_(new_event()),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      wake_(new_event()) {
  for (const Fd* fd : {&token_waits_, &attention_, &timer_}) watch(fd->get());
}

void Alarms::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (fd >= 0) ::epoll_ctl(event_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Alarms::forget(int fd) {
  if (fd >= 0) ::epoll_ctl(event_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Alarms::signal(const Fd& fd) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd.get(), &one, sizeof one);
}

/// Reads all signals of this descriptor. Returns true if there were any.
bool Alarms::take_signals(const Fd& fd) {
  std::uint64_t count = 0;
  return ::read(fd.get(), &count, sizeof count) > 0;
}

void Alarms::push(const Finished& finished) {
  finished_.push(finished);
  signal(token_waits_);
}

std::optional<Finished> Alarms::next_finished() {
  if (finished_.empty()) return std::nullopt;
  Finished next = finished_.pop();
  if (finished_.empty()) take_signals(token_waits_);
  return next;
}

void Alarms::wake_loop() {
  if (std::exchange(loop_sleeps_, false)) signal(attention_);
}

bool Alarms::may_begin_sleep() {
  const bool has_ended = std::exchange(run_has_ended_, false);
  doorbell_.silence();  // whoever has rung has written before, and the caller looks at the board after this
  return !take_signals(attention_) && !has_ended;
}

void Alarms::set_timer(Clock::time_point at, Clock::time_point now) {
  if (now < timer_at_ && timer_at_ <= at) return;  // a needless wake-up costs less than setting the timer each time
  timer_at_ = at;
  itimerspec from_now{};
  if (at != Clock::time_point::max()) {
    const auto wait = std::max<Clock::duration>(at - now, Clock::duration(0)) + coarse_lag();
    from_now.it_value = in_timespec(wait);
  }
  ::timerfd_settime(timer_.get(), 0, &from_now, nullptr);
}

void Alarms::Sleeper::sleep(const std::array<int, 3>& descriptors, Clock::duration longest) {
  const auto [one, other, third] = descriptors;
  std::array<pollfd, 5> fds = {{{alarms_.wake_.get(), POLLIN, 0},
                                {alarms_.doorbell_.event_fd(), POLLIN, 0},
                                {one, POLLIN, 0},
                                {other, POLLIN, 0},
                                {third, POLLIN, 0}}};
  const timespec most = in_timespec(longest);
  ::ppoll(fds.data(), fds.size(), &most, nullptr);
  if (fds[0].revents != 0) take_signals(alarms_.wake_);
  if (fds[1].revents != 0) alarms_.doorbell_.silence();
}

}  // namespace lacuna::runtime
