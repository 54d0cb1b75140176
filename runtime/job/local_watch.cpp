#include "runtime/job/local_watch.hpp"

#include <span>
#include <utility>

#include "runtime/job/agreement.hpp"
#include "runtime/job/inquiry.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna::runtime {
namespace {

constexpr int rounds_to_let_go = 4;  // a member sees a descriptor, discards it, and its sender hears of that

}  // namespace

LocalWatch::~LocalWatch() {
  std::vector<std::vector<Reach>> reached;
  for (Member& member : ranks_) reached.push_back(std::move(member.reached));
  log_disagreements(reached);
}

void LocalWatch::join(Rank rank, Watched& watched) {
  const std::lock_guard lock(mutex_);
  ranks_[static_cast<std::size_t>(rank)].watched = &watched;
}

void LocalWatch::leave(Rank rank, std::vector<Reach> reached) {
  const std::lock_guard lock(mutex_);
  ranks_[static_cast<std::size_t>(rank)] = {.watched = nullptr, .reached = std::move(reached), .left_at = Clock::now()};
}

void LocalWatch::report(Rank reporter, const Trouble& trouble) {
  const LogHold lines;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::vector<Account> accounts;
  for (const Member& member : std::span(ranks_).first(static_cast<std::size_t>(first_aggregator_))) {
    accounts.push_back(member.watched ? account_of(member.watched->posted(trouble.communicator, trouble.run))
                                      : account_of_leaver(trouble, member.reached, now - member.left_at));
  }
  const auto verdict = judge(trouble, reporter, accounts);
  if (!verdict) {
    const auto late = lateness(trouble, reporter, accounts);
    if (late && told_late_.admit(call_of(trouble), now)) log_warning(Subsystem::Job, "{}", *late);
    return;
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const auto process = static_cast<Rank>(rank);
    const bool is_to_know = process >= first_aggregator_ || is_among(trouble.members, process);
    if (!ranks_[rank].watched || !is_to_know) continue;
    ranks_[rank].watched->poison(trouble.communicator, *verdict);
  }
  for (int round = 0; round < rounds_to_let_go; ++round) {
    for (const Member& member : ranks_) {
      if (member.watched) member.watched->help();
    }
  }
}

}  // namespace lacuna::runtime
