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

/// What the watch's thread does. It runs run(), which waits only for its connections. An attendant does what may take
/// long. Thread rule: any thread may call submit(), leave(), stop(), compare_clocks() and clock().
class Control {
 public:
  /// `wake` is an eventfd that does not block, and `poller` an epoll.
  Control(Membership& membership, Watched& watched, const WatchTimes& times, Fd wake, Fd poller);

  Rank size() const { return static_cast<Rank>(members_.size()); }
  /// Takes a report, which run() judges. Returns false if it needs no judgement: if the same stall was reported shortly
  /// before, or if a message stalls whose peer has not left, because that peer may take its time.
  bool submit(Trouble trouble);
  void leave(std::vector<Reach> reached);
  void stop();
  void compare_clocks(std::chrono::milliseconds longest);
  std::optional<ClockRelation> clock() const;

  /// Starts the attendant's thread, before run(). Throws std::system_error if the system has no thread to give.
  void start_attendant() { attendant_.start(); }
  /// Serves until stop(). If leave() was called, it also waits for the goodbyes of others, and if the job has failed,
  /// until all have stopped. Neither wait is long. If there is no memory to serve with, the job fails.
  void run();

 private:
  /// A rank, as this rank sees it. Connections exist only between rank 0 and each other rank.
  struct Member {
    std::string host;
    Channel channel;
    std::uint32_t awaited = 0;  // the events for which the poller wakes this thread
    Clock::time_point heard;
    bool has_left = false;     // it has said goodbye
    bool has_stopped = false;  // it moves no data any more, or its connection has ended
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
    bool has_stopped = false;  // this process has stopped: it moves no data any more
    bool compare_clocks = false;
    std::vector<watch_messages::Sent> sent{};  // how many messages this rank has sent, for rank 0
  };
  struct Fallback {
    Trouble trouble;
    Clock::time_point until;
  };

  /// Is this process an aggregator? It repeats what ranks have posted, so it is never asked what it has posted, and
  /// belongs to all communicators.
  bool aggregates(Rank rank) const { return rank >= size() - aggregators_; }
  std::string name_of_member(Rank rank) const;
  std::string name_members(const std::vector<Rank>& ranks) const;

  // Sleeping (control_poll.cpp)
  void await(Rank rank);
  void forget(Member& one);
  void sleep();
  int timeout_for(Clock::time_point until) const;
  Clock::time_point next_duty() const;
  void farewell();

  // The loop and the connections (control.cpp)
  void serve();
  void give_up();
  void wake() const;
  void close_in_child() const;
  Orders take_orders();
  void attend(Rank rank);
  void take(Rank rank, const Frame& frame);
  void note_goodbye(Rank rank, const Frame& frame);
  void note_leaver(Rank rank);
  void lose(Rank rank, std::string_view how);
  void read_clock();
  void keep_time();
  void look_for_silence();
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

  /// The time at which a rank counts as stopped if nothing is heard of it before. Beats are half a period apart, so the
  /// rank may have run for almost a period after it was heard last.
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

  // Connections over which nothing arrives (control_links.cpp)
  void suspect_links(Rank reporter, const Trouble& stalled);
  void count_sent(Rank to);
  void tell_sent(const watch_messages::Sent& sent);
  void judge_link(Rank from, const watch_messages::Sent& sent);

  const Rank rank_;
  const Rank aggregators_;
  const std::chrono::milliseconds silence_;
  const Clock::duration period_;  // a rank sends two beats in this time, so one is heard
  const WatchTimes times_;
  Watched& watched_;
  const Fd wake_, poller_;

  mutable std::mutex mutex_;  // protects the next six members
  Orders orders_;
  std::vector<bool> left_;  // by rank: has it said goodbye, as far as this rank knows?
  Throttle submitted_;
  ClockComparison clocks_;
  int clock_answers_ = 0;
  std::condition_variable clock_answered_;

  std::vector<Member> members_;
  std::vector<Rank> ready_;  // ranks whose connections have an event in this round
  Clock::time_point now_;    // read once in a round, so that a rank that is suspended during a round blames nobody
  Clock::time_point next_beat_;
  std::optional<Clock::time_point> woken_;  // when this rank found last that it had been suspended
  Clock::time_point help_until_;            // until then this rank makes progress for ranks that leave
  Clock::time_point stop_until_;            // after a verdict on the job, how long to wait for others to stop
  bool failed_ = false, all_have_stopped_ = false, released_ = false, stopping_ = false;
  bool compares_clocks_ = false;
  std::vector<Inquiry> inquiries_;  // only on rank 0
  std::uint32_t next_inquiry_ = 0;
  Throttle looked_at_, told_late_{between_warnings};
  SilentLinks silent_links_;
  std::vector<Fallback> fallbacks_;      // only on other ranks: at most one for each communicator
  std::vector<std::uint64_t> poisoned_;  // the last communicators that have had a verdict
  const Status without_memory_;          // made while there is memory
  Attendant attendant_;
  const AtFork at_fork_{[this] { close_in_child(); }};
};

}  // namespace lacuna::runtime
