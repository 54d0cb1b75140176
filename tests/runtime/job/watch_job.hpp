#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "runtime/job/watch.hpp"
#include "tests/support/hand_clock.hpp"
#include "tests/support/process.hpp"

namespace lacuna::runtime {

/// A process, as its watch sees it.
class WatchedProcess : public Watched {
 public:
  std::optional<Posted> posted(std::uint64_t, std::uint32_t run) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return answers_; });
    ++questions_;
    const auto entry = posted_.find(run);
    return entry == posted_.end() ? std::nullopt : std::optional(entry->second);
  }
  void poison(std::uint64_t communicator, const Status& verdict) override {
    const std::lock_guard lock(mutex_);
    verdicts_.push_back(verdict.to_string());
    poisoned_.push_back(communicator);
    changed_.notify_all();
  }
  void fail(const Status& verdict) override {
    const std::lock_guard lock(mutex_);
    verdicts_.push_back(verdict.to_string());
    has_failed_ = true;
    changed_.notify_all();
    std::this_thread::sleep_for(stops_after_);
  }
  void release(bool all_have_stopped) override {
    const std::lock_guard lock(mutex_);
    released_ = true;
    all_have_stopped_ = all_have_stopped;
    changed_.notify_all();
  }
  void tell_members(std::uint64_t communicator, std::uint32_t run) override {
    const std::lock_guard lock(mutex_);
    told_members_.emplace_back(communicator, run);
    changed_.notify_all();
  }
  void help() override {
    const std::lock_guard lock(mutex_);
    ++helps_;
  }

  std::uint64_t sent(Rank peer) override {
    const std::lock_guard lock(mutex_);
    return sent_[peer];
  }

  /// From now on, the process says that it has sent so many messages to this peer.
  void has_sent(Rank peer, std::uint64_t messages) {
    const std::lock_guard lock(mutex_);
    sent_[peer] = messages;
  }
  /// From now on, fail() takes so long.
  void stop_after(std::chrono::milliseconds time) {
    const std::lock_guard lock(mutex_);
    stops_after_ = time;
  }
  void post(std::uint32_t run, std::uint64_t digest, const std::string& text) {
    const std::lock_guard lock(mutex_);
    posted_[run] = {digest, text};
  }
  /// Says whether questions are answered from now on. If not, they wait, and the watch's thread waits with them.
  void answer(bool answers) {
    const std::lock_guard lock(mutex_);
    answers_ = answers;
    changed_.notify_all();
  }
  int questions() const {
    const std::lock_guard lock(mutex_);
    return questions_;
  }
  /// The first verdict, or "(none)" if there is none within the time.
  std::string verdict(std::chrono::milliseconds within = std::chrono::seconds(10)) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, within, [&] { return !verdicts_.empty(); });
    return verdicts_.empty() ? "(none)" : verdicts_.front();
  }
  /// Returns true once there is a verdict on this communicator.
  bool is_told_of(std::uint64_t communicator) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] {
      return std::find(poisoned_.begin(), poisoned_.end(), communicator) != poisoned_.end();
    });
  }
  bool released(std::chrono::milliseconds within = std::chrono::seconds(10)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, within, [&] { return released_; });
  }
  /// Has the job failed, and not only a communicator?
  bool has_failed() const {
    const std::lock_guard lock(mutex_);
    return has_failed_;
  }
  bool all_have_stopped() const {
    const std::lock_guard lock(mutex_);
    return all_have_stopped_;
  }
  std::vector<std::string> all_verdicts() const {
    const std::lock_guard lock(mutex_);
    return verdicts_;
  }
  /// The communicator and the run of the first call about which the other members were to be told; 0, 0 if there is
  /// none.
  std::pair<std::uint64_t, std::uint32_t> told_members(std::chrono::milliseconds within = std::chrono::seconds(10)) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, within, [&] { return !told_members_.empty(); });
    return told_members_.empty() ? std::pair<std::uint64_t, std::uint32_t>() : told_members_.front();
  }
  int helps() const {
    const std::lock_guard lock(mutex_);
    return helps_;
  }
  std::size_t verdicts() const {
    const std::lock_guard lock(mutex_);
    return verdicts_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, Posted> posted_;
  std::map<Rank, std::uint64_t> sent_;
  std::vector<std::string> verdicts_;
  std::vector<std::uint64_t> poisoned_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> told_members_;
  int questions_ = 0;
  bool answers_ = true;
  bool has_failed_ = false, released_ = false, all_have_stopped_ = false;
  int helps_ = 0;
  std::chrono::milliseconds stops_after_{0};
};

inline Membership enter(Rank rank, Rank size, const std::string& store, std::chrono::milliseconds longest_silence) {
  const Job job{.rank = rank,
                .size = size,
                .store = store,
                .key = "key",
                .host = "h" + std::to_string(rank),
                .timeout = std::chrono::seconds(10),
                .silence = longest_silence};
  Result<Membership> membership = join(job, {});
  EXPECT_TRUE(membership) << membership.status().to_string();
  return *std::move(membership);
}

/// By which clocks the watches of a job go: by the real one, or each by one that the test moves.
enum class Time : std::uint8_t { Real, ByHand };

/// The ranks are threads of this process. Real sockets connect their watches.
class Local {
 public:
  explicit Local(Rank size, const WatchTimes& times = {}, std::chrono::milliseconds silence = std::chrono::seconds(10),
                 Time time = Time::Real)
      : clocks_(static_cast<std::size_t>(size)), clients(clocks_.size()) {
    std::vector<Membership> memberships(clients.size());
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < size; ++rank) {
      threads.emplace_back(
          [&, rank] { memberships[static_cast<std::size_t>(rank)] = enter(rank, size, port_.store(), silence); });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t rank = 0; rank < clients.size(); ++rank) {
      WatchTimes own = times;
      if (time == Time::ByHand) own.time = TimeSource(clocks_[rank]);
      watches.push_back(*Watch::start(memberships[rank], clients[rank], own));
    }
    if (time == Time::Real) return;
    std::vector<std::size_t> all(clients.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (int round = 0; round < 2; ++round) leap({}, all);  // each has begun, and then has heard the others
  }

  /// Lets that much time pass for these ranks, whose watches go by hand. The others stand still meanwhile, as if they
  /// were stopped or cut off. Steps are so short that no rank finds that it was suspended.
  void pass(Clock::duration time, const std::vector<std::size_t>& ranks) {
    constexpr Clock::duration step = std::chrono::milliseconds(500);
    for (; time > Clock::duration::zero(); time -= step) leap(std::min(time, step), ranks);
  }
  /// The same in one step, as if the ranks had been suspended meanwhile.
  void leap(Clock::duration time, const std::vector<std::size_t>& ranks) {
    constexpr std::uint64_t round = 4;  // a round of a watch reads its clock twice, and one may have begun before
    for (std::size_t rank : ranks) clocks_[rank].move(time);
    for (std::size_t rank : ranks) {
      for (const auto seen = clocks_[rank].looks(); clocks_[rank].looks() < seen + round;) std::this_thread::yield();
    }
  }

  void post_everywhere(std::uint32_t run) {
    for (WatchedProcess& client : clients) client.post(run, 7, "barrier");
  }
  void leave(std::size_t rank, std::uint32_t next_run) {
    watches[rank]->leave({{.communicator = 1, .next_run = next_run}});
    watches[rank].reset();
  }
  void expect_verdict_everywhere_but(std::size_t absent, const std::string& expected) {
    for (std::size_t rank = 0; rank < clients.size(); ++rank) {
      if (rank == absent) continue;
      EXPECT_EQ(clients[rank].verdict(), expected) << "on rank " << rank;
    }
  }
  void expect_verdict_everywhere(const std::string& expected) {
    expect_verdict_everywhere_but(clients.size(), expected);
  }
  /// Expects that no report so far has led to a verdict. Each rank whose watch is there reports that a call of a
  /// communicator of its own has expired. What it has reported before is judged before that.
  void expect_no_verdict() {
    constexpr std::uint32_t run = 424'240;
    for (std::size_t rank = 0; rank < clients.size(); ++rank) {
      if (watches[rank]) watches[rank]->report({Trouble::Kind::Expired, run + rank, run, "mark"});
    }
    for (std::size_t rank = 0; rank < clients.size(); ++rank) {
      EXPECT_TRUE(!watches[rank] || clients[rank].is_told_of(run + rank));
      for (const std::string& verdict : clients[rank].all_verdicts()) {
        EXPECT_NE(verdict.find(std::to_string(run)), std::string::npos) << verdict << " on rank " << rank;
      }
    }
  }

 private:
  test::ReservedPort port_;
  std::vector<test::HandClock> clocks_;

 public:
  std::vector<WatchedProcess> clients;
  std::vector<std::unique_ptr<Watch>> watches;
};

inline Trouble trouble(Trouble::Kind kind, std::uint32_t run, std::string text = "waits") {
  return {.kind = kind, .communicator = 1, .run = run, .text = std::move(text)};
}

/// The report of a rank that waits for a message of rank `peer`.
inline Trouble message_trouble(Trouble::Kind kind, Rank peer) {
  Trouble missing = trouble(kind, 2, "receive");
  missing.name = "a message with tag 2 between ranks 1 and " + std::to_string(peer);
  missing.peer = peer;
  return missing;
}

}  // namespace lacuna::runtime
