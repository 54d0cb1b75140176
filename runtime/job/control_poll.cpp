#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>

#include "runtime/job/control.hpp"

// When the watch's thread sleeps, and what wakes it.
namespace lacuna::runtime {
namespace {

using watch_messages::Say;

constexpr std::chrono::milliseconds longest_farewell{200};
constexpr std::chrono::milliseconds help_interval{1};
constexpr std::chrono::milliseconds slow_help_interval{10};
constexpr std::size_t most_ready = 64;  // connections that one round serves; the next round serves more

short events_of(const Channel& channel) { return channel.has_unsent() ? POLLIN | POLLOUT : POLLIN; }

}  // namespace

/// Tells the poller for which events of the connection it is to wake this thread.
void Control::await(Rank rank) {
  Member& one = member(rank);
  if (!one.channel.is_open()) return;
  const std::uint32_t wanted = one.channel.has_unsent() ? EPOLLIN | EPOLLOUT : EPOLLIN;
  if (wanted == one.awaited) return;
  epoll_event event{.events = wanted, .data = {.u32 = static_cast<std::uint32_t>(rank)}};
  ::epoll_ctl(poller_.get(), one.awaited == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, one.channel.fd(), &event);
  one.awaited = wanted;
}

void Control::forget(Member& one) {
  if (one.awaited != 0) ::epoll_ctl(poller_.get(), EPOLL_CTL_DEL, one.channel.fd(), nullptr);
  one.awaited = 0;
  one.channel.close();
}

/// Sleeps until something is to be done. Then `ready_` has the ranks whose connections have an event.
void Control::sleep() {
  for (Rank rank = 0; rank < size(); ++rank) await(rank);
  const Clock::time_point until = next_duty();
  std::array<epoll_event, most_ready> events;
  const int count = ::epoll_wait(poller_.get(), events.data(), static_cast<int>(events.size()), timeout_for(until));
  ready_.clear();
  for (int i = 0; i < count; ++i) {
    const auto rank = static_cast<Rank>(events[static_cast<std::size_t>(i)].data.u32);
    eventfd_t wakes = 0;
    rank < size() ? ready_.push_back(rank) : static_cast<void>(::eventfd_read(wake_.get(), &wakes));
  }
}

/// How long poll() may sleep until this time, in milliseconds.
int Control::timeout_for(Clock::time_point until) const {
  constexpr int virtual_look = 1;  // nothing tells when a virtual clock is moved
  const TimeSource& time = times_.time;
  if (!time.is_real()) return time.now() < until ? virtual_look : 0;
  return until == Clock::time_point::max() ? -1 : poll_timeout(until);
}

Clock::time_point Control::next_duty() const {
  const auto is_open = [](const Member& one) { return one.channel.is_open(); };
  const bool beats = std::any_of(members_.begin(), members_.end(), is_open);
  Clock::time_point next = beats ? next_beat_ : Clock::time_point::max();
  for (const Inquiry& inquiry : inquiries_) next = std::min(next, inquiry.until);
  if (now_ < help_until_)
    next = std::min(next, now_ + (members_.front().has_left ? slow_help_interval : help_interval));
  if (failed_ && !released_ && member(rank_).has_stopped) next = std::min(next, stop_until_);
  for (const Fallback& one : fallbacks_) next = std::min(next, one.until);
  for (const Member& one : members_) {
    if (!failed_ && !one.has_left && one.channel.is_open()) next = std::min(next, missed_at(one));
  }
  return next;
}

void Control::farewell() {
  const Clock::time_point until = times_.time.now() + longest_farewell;
  std::vector<pollfd> waiting;
  do {
    waiting.clear();
    for (Rank rank = 0; rank < size(); ++rank) {
      Channel& channel = member(rank).channel;
      channel.flush();
      if (channel.is_open() && !channel.has_unsent()) channel.finish();
      const bool ended = !channel.fill();
      while (const std::optional<Frame> frame = channel.next()) {
        if (static_cast<Say>(frame->kind) == Say::Goodbye) note_goodbye(rank, *frame);
      }
      if (ended) channel.close();
      if (channel.is_open()) waiting.push_back({.fd = channel.fd(), .events = events_of(channel), .revents = 0});
    }
    ::poll(waiting.data(), waiting.size(), waiting.empty() ? 0 : timeout_for(until));
  } while (!waiting.empty() && times_.time.now() < until);
}

}  // namespace lacuna::runtime
