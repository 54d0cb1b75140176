#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/attendant.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/job/fork_guard.hpp"
#include "runtime/job/inquiry.hpp"
#include "runtime/job/silent_links.hpp"
#include "runtime/job/watch.hpp"
#include "runtime/job/watch_messages.hpp"

namespace lacuna::runtime {

/// What the watch's thread does. submit(), leave() and stop() may be called from any thread; all else happens in run().
/// run() waits for nothing but its connections: an attendant does what may take the process long.
class Control {
 public:
  /// `wake`: an eventfd that does not block. `poller`: an epoll.
  Control(Membership& membership, Watched& watched, const WatchTimes& times, Fd wake, Fd poller);

  Rank size() const { return static_cast<Rank>(members_.size()); }
  /// Takes a report for run() to judge. Returns false if it is no news. A stalled message is no news while its peer is
  /// there, because a peer may wait for messages as long as it likes.
  bool submit(Trouble trouble);
  void leave(std::vector<Reach> reached);
  void stop();
  void compare_clocks(std::chrono::milliseconds longest);
  std::optional<ClockRelation> clock() const;

  /// Starts the attendant's thread, before run(). Throws std::system_error if the system has no thread.
  void start_attendant() { attendant_.start(); }
  /// Serves until stop(). After leave() that is not the end of it before the goodbyes, nor before all have stopped if
  /// the job has failed.
  void run();

 private:
  /// A rank as seen from here. Connections exist between rank 0 and all others.
  struct Member {
    std::string host;
    Channel channel;
    std::uint32_t awaited = 0;  // what the poller is to wake us for
    Clock::time_point heard;
    bool has_left = false;     // it has said goodbye
    bool has_stopped = false;  // it has heard the verdict on the job, or is gone
    std::vector<Reach> reached;
    Clock::time_point left_at{};
  };
  struct Inquiry {
    std::uint32_t id = 0;
    Trouble trouble;
    Rank reporter = 0;
    Clock::time_point raised{};
    Clock::time_point until;
    std::vector<std::optional<Account>> answers;
  };
  struct Orders {
    std::vector<Trouble> troubles;
    std::optional<std::vector<Reach>> leave;
    bool stop = false;
    bool has_stopped = false;  // this process moves no data any more
    bool compare_clocks = false;
    std::vector<watch_messages::Sent> sent{};  // by this rank
  };
  struct Fallback {
    Trouble trouble;
    Clock::time_point until;
  };

  // Sleeping (control_poll.cpp)
  void await(Rank rank);
  void forget(Member& one);
  void sleep();
  Clock::time_point next_duty() const;
  void farewell();

  // The loop and the connections (control.cpp)
  void wake() const;
  void close_in_child() const;
  Orders take_orders();
  void attend(Rank rank);
  void take(Rank rank, const Frame& frame);
  void note_goodbye(Rank rank, const Frame& frame);
  void note_leaver(Rank rank);
  void lose(Rank rank, std::string_view how);
  void keep_time();
  void say_goodbye(std::vector<Reach> reached);
  void help_leavers();
  void compare_goodbyes() const;
  void conclude(const Status& verdict);
  void tell_stopped();
  void take_verdict(Rank from, const Frame& frame);
  void hub_leaves();
  void release_when_stopped();
  void tell_all(watch_messages::Say kind);

  // Clocks (control_clock.cpp)
  void ask_time();
  void tell_time(Member& to, const Frame& frame);
  void take_time(const Frame& frame);

  /// A rank that is not heard until then has been silent for as long as was promised, and not less: it may have run for
  /// a period after it was heard last.
  Clock::time_point missed_at(const Member& one) const { return one.heard + period_ + silence_; }

  Member& member(Rank rank) { return members_[static_cast<std::size_t>(rank)]; }
  const Member& member(Rank rank) const { return members_[static_cast<std::size_t>(rank)]; }

  // Troubles (control_inquiries.cpp)
  void raise(Trouble trouble);
  bool is_plausible(const Trouble& trouble) const;
  bool is_poisoned(std::uint64_t communicator) const;
  void inquire(Rank reporter, Trouble trouble);
  void judge_message(Rank reporter, const Trouble& trouble);
  void take_answer(Rank rank, const Frame& frame);
  void settle();
  Status with_silent_links(const Status& reason, const Trouble& trouble) const;
  bool is_settled(const Inquiry& inquiry) const;
  std::vector<Account> accounts_for(const Inquiry& inquiry) const;
  void decide_alone(const Trouble& trouble);
  void poison(const watch_messages::Verdict& verdict, Rank teller);

  // Links over which nothing arrives (control_links.cpp)
  void suspect_links(Rank reporter, const Trouble& stalled);
  void count_sent(Rank to);
  void tell_sent(const watch_messages::Sent& sent);
  void judge_link(Rank from, const watch_messages::Sent& sent);

  const Rank rank_;
  const std::chrono::milliseconds silence_;
  const Clock::duration period_;  // in which a rank that runs is heard, which beats twice in it
  const WatchTimes times_;
  Watched& watched_;
  const Fd wake_, poller_;

  mutable std::mutex mutex_;  // of the next six
  Orders orders_;
  std::vector<bool> left_;  // by rank: it has said goodbye, as far as this rank knows
  Throttle submitted_;
  ClockComparison clocks_;
  int clock_answers_ = 0;
  std::condition_variable clock_answered_;

  std::vector<Member> members_;
  std::vector<Rank> ready_;  // whose connections are to be looked at in this round
  Clock::time_point now_;    // read once in a round: a rank that is suspended in the midst of one blames nobody
  Clock::time_point next_beat_;
  Clock::time_point help_until_;  // leavers to be heard
  Clock::time_point stop_until_;  // after a verdict, others to stop
  bool failed_ = false, all_have_stopped_ = false, released_ = false, stopping_ = false;
  bool compares_clocks_ = false;
  std::vector<Inquiry> inquiries_;  // on rank 0
  std::uint32_t next_inquiry_ = 0;
  Throttle looked_at_;
  SilentLinks silent_links_;
  std::vector<Fallback> fallbacks_;      // elsewhere, one for each communicator
  std::vector<std::uint64_t> poisoned_;  // communicators, the last ones
  Attendant attendant_;
  const AtFork at_fork_{[this] { close_in_child(); }};
};

}  // namespace lacuna::runtime
