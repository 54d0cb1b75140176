#include "runtime/job/control.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "runtime/job/agreement.hpp"
#include "runtime/job/names.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna::runtime {

namespace {

using watch_messages::Say;

constexpr std::chrono::seconds longest_period{
    30};  // also if nobody minds silence, since clocks are compared with beats

}  // namespace

Control::Control(Membership& membership, Watched& watched, const WatchTimes& times, Fd wake, Fd poller)
    : rank_(membership.rank),
      aggregators_(membership.aggregators),
      silence_(membership.silence),
      period_(std::clamp<Clock::duration>(membership.silence / 4, std::chrono::milliseconds(1), longest_period)),
      times_(times),
      watched_(watched),
      wake_(std::move(wake)),
      poller_(std::move(poller)),
      submitted_(times.throttle),
      looked_at_(times.throttle),
      silent_links_(membership.silence),
      without_memory_(Code::Internal, fmt::format("rank {}: the watch has no memory", membership.rank)),
      attendant_(watched) {
  now_ = times_.time.now();
  for (std::size_t rank = 0; rank < membership.star.size(); ++rank) {
    Member one{
        .host = membership.hosts[rank], .channel = std::move(membership.star[rank]), .heard = now_, .reached = {}};
    one.channel.set_limit(watch_messages::longest_message);
    members_.push_back(std::move(one));
  }
  membership.star.clear();
  left_.resize(members_.size());
  epoll_event woken{.events = EPOLLIN, .data = {.u32 = static_cast<std::uint32_t>(size())}};
  ::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, wake_.get(), &woken);
}

std::string Control::name_of_member(Rank rank) const {
  const std::string& host = member(rank).host;
  return aggregates(rank) ? name_aggregator(rank - (size() - aggregators_), host) : name_rank(rank, host);
}

bool Control::submit(Trouble trouble) {
  {
    const std::lock_guard lock(mutex_);
    const bool can_wait = trouble.kind == Trouble::Kind::Stalled;
    if (can_wait && trouble.peer >= 0 && !left_[static_cast<std::size_t>(trouble.peer)]) return false;
    if (can_wait && !submitted_.admit(call_of(trouble), times_.time.now())) return false;
    orders_.troubles.push_back(std::move(trouble));
  }
  wake();
  return true;
}

void Control::leave(std::vector<Reach> reached) {
  {
    const std::lock_guard lock(mutex_);
    orders_.leave = std::move(reached);
  }
  wake();
}

void Control::stop() {
  {
    const std::lock_guard lock(mutex_);
    orders_.stop = true;
  }
  wake();
}

void Control::wake() const { ::eventfd_write(wake_.get(), 1); }

/// Closes the connections in a child, without a word to the peers: they belong to the parent. If the child kept them
/// open, peers would not see the death of the parent.
void Control::close_in_child() const {
  for (const Member& one : members_) {
    if (one.channel.is_open()) ::close(one.channel.fd());
  }
}

Control::Orders Control::take_orders() {
  const std::lock_guard lock(mutex_);
  return std::exchange(orders_, {});
}

void Control::run() {
  try {
    serve();
  } catch (const std::bad_alloc&) {
    give_up();
  }
}

/// There is no memory to tell anybody. The other ranks see that this one's connections end.
void Control::give_up() {
  for (Member& one : members_) one.channel.close();
  watched_.fail(without_memory_);
  watched_.release(false);
}

/// Reads the clock at the beginning of a round. If this thread did not run for a while, it could not hear the others.
void Control::read_clock() {
  const Clock::time_point last = std::exchange(now_, times_.time.now());
  if (now_ - last <= 2 * period_) return;
  for (Member& one : members_) one.heard = now_;
  woken_ = now_;
}

void Control::serve() {
  read_clock();
  next_beat_ = now_;
  // Frames that came together with the last ones of the bootstrap have been read already.
  for (Rank rank = 0; rank < size(); ++rank) attend(rank);
  while (true) {
    sleep();
    read_clock();
    for (Rank rank : ready_) attend(rank);
    Orders orders = take_orders();
    for (Trouble& trouble : orders.troubles) raise(std::move(trouble));
    if (orders.compare_clocks) {
      compares_clocks_ = true;
      ask_time();
    }
    for (const watch_messages::Sent& sent : orders.sent) tell_sent(sent);
    if (orders.leave) say_goodbye(*std::move(orders.leave));
    if (orders.has_stopped) tell_stopped();
    keep_time();
    help_leavers();
    stopping_ |= orders.stop;
    release_when_stopped();
    if (stopping_ && !member(rank_).has_left) return;
    if (stopping_ && failed_ == released_) {
      farewell();
      return compare_goodbyes();
    }
  }
}

void Control::attend(Rank rank) {
  Channel& channel = member(rank).channel;
  if (!channel.is_open()) return;
  channel.flush();
  const bool alive = channel.fill();
  while (const std::optional<Frame> frame = channel.next()) {
    member(rank).heard = now_;
    take(rank, *frame);
  }
  if (channel.is_malformed()) return lose(rank, "sent something that is no message of the watch");
  if (channel.is_stuffed()) return lose(rank, "does not take what the watch tells it");
  if (alive) return;
  member(rank).has_stopped = true;
  lose(rank, "died: its connection ended without a goodbye");
}

void Control::take(Rank rank, const Frame& frame) {
  Member& from = member(rank);
  switch (static_cast<Say>(frame.kind)) {
    case Say::Beat:
      break;
    case Say::Goodbye:
      note_goodbye(rank, frame);
      log_debug(Subsystem::Job, "{} leaves", name_of_member(rank));
      help_until_ = now_ + longest_leave;
      if (rank_ == 0) {
        for (Member& one : members_) {
          if (one.channel.is_open()) watch_messages::send_leaving(one.channel, rank);
        }
      } else {
        hub_leaves();
      }
      break;
    case Say::Leaving:
      help_until_ = now_ + longest_leave;
      if (const auto leaver = watch_messages::read_leaving(frame)) note_leaver(*leaver);
      break;
    case Say::Report:
      if (auto trouble = watch_messages::read_report(frame); trouble && is_plausible(*trouble)) {
        inquire(rank, *std::move(trouble));
      }
      break;
    case Say::Ask:
      if (const auto ask = watch_messages::read_ask(frame)) {
        auto posted = watched_.posted(ask->call.first, ask->call.second);
        watch_messages::send_answer(from.channel, {.inquiry = ask->inquiry, .posted = std::move(posted)});
      }
      break;
    case Say::Answer:
      take_answer(rank, frame);
      break;
    case Say::Verdict:
      take_verdict(rank, frame);
      break;
    case Say::Stopped:
      from.has_stopped = true;
      break;
    case Say::Released:
      all_have_stopped_ = true;
      break;
    case Say::AskSent:
      if (const auto to = watch_messages::read_ask_sent(frame)) count_sent(*to);
      break;
    case Say::Sent:
      if (const auto sent = watch_messages::read_sent(frame)) judge_link(rank, *sent);
      break;
    case Say::AskTime:
      tell_time(from, frame);
      break;
    case Say::Time:
      take_time(frame);
      break;
  }
}

void Control::note_goodbye(Rank rank, const Frame& frame) {
  Member& from = member(rank);
  from.reached = watch_messages::read_goodbye(frame).value_or(std::vector<Reach>());
  from.has_left = true;
  from.left_at = now_;
  note_leaver(rank);
}

void Control::note_leaver(Rank rank) {
  const std::lock_guard lock(mutex_);
  if (rank >= 0 && rank < size()) left_[static_cast<std::size_t>(rank)] = true;
}

void Control::lose(Rank rank, std::string_view how) {
  Member& lost = member(rank);
  forget(lost);
  if (!lost.has_left) conclude({Code::PeerFailed, fmt::format("{} {}", name_of_member(rank), how)});
}

void Control::keep_time() {
  if (now_ >= next_beat_) {
    next_beat_ = now_ + period_ / 2;
    if (compares_clocks_) ask_time();
    for (Member& one : members_) {
      if (one.channel.is_open() && !one.channel.has_unsent()) watch_messages::send(one.channel, Say::Beat);
    }
  }
  if (!failed_) look_for_silence();
  settle();
}

/// Rank 0 leaves. From now on nobody tells this rank who leaves, and nobody else decides.
void Control::hub_leaves() {
  help_until_ = Clock::time_point::max();
  for (const Fallback& one : std::exchange(fallbacks_, {})) decide_alone(one.trouble);
}

void Control::tell_all(Say kind) {
  for (Member& one : members_) {
    if (one.channel.is_open()) watch_messages::send(one.channel, kind);
  }
}

void Control::say_goodbye(std::vector<Reach> reached) {
  for (Member& one : members_) {
    if (one.channel.is_open()) watch_messages::send_goodbye(one.channel, reached);
  }
  member(rank_).has_left = true;
  member(rank_).reached = std::move(reached);
}

void Control::help_leavers() {
  if (now_ < help_until_) attendant_.help();
}

void Control::compare_goodbyes() const {
  if (failed_) return;
  std::vector<std::vector<Reach>> reached;
  for (const Member& one : members_) reached.push_back(one.reached);
  log_disagreements(reached);
}

}  // namespace lacuna::runtime
