#include <fmt/format.h>

#include <algorithm>

#include "runtime/job/control.hpp"
#include "runtime/job/names.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna::runtime {

namespace {

// The most open inquiries that one rank has caused: so many about calls that stall, and so many about other troubles.
constexpr std::ptrdiff_t most_inquiries = 16;
constexpr std::size_t most_poisoned = 256;  // how many communicators with a verdict this rank remembers

}  // namespace

void Control::raise(Trouble trouble) {
  if (failed_ || is_poisoned(trouble.communicator)) return;
  if (rank_ == 0) return inquire(0, std::move(trouble));
  if (member(0).has_left) return decide_alone(trouble);
  const auto same = [&](const Fallback& one) { return one.trouble.communicator == trouble.communicator; };
  if (std::any_of(fallbacks_.begin(), fallbacks_.end(), same)) return;  // a verdict on this communicator is on the way
  watch_messages::send_report(member(0).channel, trouble);
  if (trouble.kind == Trouble::Kind::Stalled) return;
  fallbacks_.push_back({.trouble = std::move(trouble), .until = now_ + times_.fallback});
}

bool Control::is_poisoned(std::uint64_t communicator) const {
  return std::find(poisoned_.begin(), poisoned_.end(), communicator) != poisoned_.end();
}

/// Can another rank of this job have sent this report to this rank?
bool Control::is_plausible(const Trouble& trouble) const {
  const auto is_rank = [&](Rank rank) { return rank >= 0 && rank < size(); };
  return rank_ == 0 && std::ssize(trouble.members) <= size() && trouble.peer < size() &&
         std::all_of(trouble.members.begin(), trouble.members.end(), is_rank);
}

void Control::inquire(Rank reporter, Trouble trouble) {
  if (failed_ || member(0).has_left || is_poisoned(trouble.communicator)) return;
  if (trouble.kind == Trouble::Kind::Refused) {  // it does not matter what others have posted
    return poison({judge_alone(trouble, {}, ""), trouble.communicator, trouble.members}, rank_);
  }
  suspect_links(reporter, trouble);
  const CallId call = call_of(trouble);
  const bool can_wait = trouble.kind == Trouble::Kind::Stalled;
  for (Inquiry& open : inquiries_) {
    if (call_of(open.trouble) != call) continue;
    if (open.trouble.kind == Trouble::Kind::Stalled && !can_wait) {
      open.trouble = std::move(trouble);
      open.reporter = reporter;
    }
    return;
  }
  if (trouble.peer >= 0) {
    if (!can_wait || looked_at_.admit(call, now_)) judge_message(reporter, trouble);
    return;
  }
  const auto is_theirs = [&](const Inquiry& open) {
    return open.reporter == reporter && reporter != rank_ && (open.trouble.kind == Trouble::Kind::Stalled) == can_wait;
  };
  if (std::count_if(inquiries_.begin(), inquiries_.end(), is_theirs) >= most_inquiries) {
    if (can_wait) return;
    const std::string why =
        fmt::format("{} is already asking about {} other calls", name_rank(0, member(0).host), most_inquiries);
    return poison({judge_alone(trouble, {}, why), trouble.communicator, trouble.members}, rank_);
  }
  if (can_wait && !looked_at_.admit(call, now_)) return;
  Inquiry inquiry{.id = next_inquiry_++,
                  .trouble = std::move(trouble),
                  .reporter = reporter,
                  .raised = now_,
                  .until = now_ + times_.gather,
                  .answers = std::vector<std::optional<Account>>(members_.size())};
  inquiry.answers[0] = account_of(watched_.posted(call.first, call.second));
  for (Member& one : members_) {
    if (one.channel.is_open()) watch_messages::send_ask(one.channel, {.inquiry = inquiry.id, .call = call});
  }
  inquiries_.push_back(std::move(inquiry));
}

/// Judges a trouble with a message. Only the message's peer can be the reason, if it has left, so nobody is asked.
void Control::judge_message(Rank reporter, const Trouble& trouble) {
  std::vector<Account> accounts(members_.size());
  const Member& peer = member(trouble.peer);
  if (peer.has_left) {
    accounts[static_cast<std::size_t>(trouble.peer)] = account_of_leaver(trouble, peer.reached, now_ - peer.left_at);
  }
  if (auto reason = judge(trouble, reporter, accounts)) {
    poison({*std::move(reason), trouble.communicator, trouble.members}, rank_);
  }
}

void Control::take_answer(Rank rank, const Frame& frame) {
  const auto answer = watch_messages::read_answer(frame);
  if (!answer) return;
  for (Inquiry& inquiry : inquiries_) {
    if (inquiry.id == answer->inquiry) inquiry.answers[static_cast<std::size_t>(rank)] = account_of(answer->posted);
  }
}

bool Control::is_settled(const Inquiry& inquiry) const {
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    if (!inquiry.answers[rank] && members_[rank].channel.is_open()) return false;
  }
  return true;
}

std::vector<Account> Control::accounts_for(const Inquiry& inquiry) const {
  std::vector<Account> accounts;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    const Member& one = members_[rank];
    Account account = inquiry.answers[rank].value_or(Account());
    if (aggregates(static_cast<Rank>(rank))) {
      account = {.state = Account::State::Stranger, .posted = {}};
    } else if (one.has_left && account.state != Account::State::Posted) {
      account = account_of_leaver(inquiry.trouble, one.reached, inquiry.raised - one.left_at);
    }
    accounts.push_back(std::move(account));
  }
  return accounts;
}

/// Adds the connections over which nothing arrives, if a call has run out of time.
Status Control::with_silent_links(const Status& reason, const Trouble& trouble) const {
  if (reason.code() != Code::TimedOut) return reason;
  return {reason.code(), std::string(reason.message()) + silent_links_.text_for(trouble.communicator)};
}

void Control::settle() {
  std::vector<watch_messages::Verdict> verdicts;
  const auto add = [&](const Trouble& trouble, Status reason) {
    verdicts.push_back({std::move(reason), trouble.communicator, trouble.members});
  };
  std::erase_if(inquiries_, [&](const Inquiry& inquiry) {
    if (now_ < inquiry.until && !is_settled(inquiry)) return false;
    const std::vector<Account> accounts = accounts_for(inquiry);
    if (const auto reason = judge(inquiry.trouble, inquiry.reporter, accounts)) {
      add(inquiry.trouble, with_silent_links(*reason, inquiry.trouble));
    } else if (const auto late = lateness(inquiry.trouble, inquiry.reporter, accounts)) {
      if (told_late_.admit(call_of(inquiry.trouble), now_)) log_warning(Subsystem::Job, "{}", *late);
    }
    return true;
  });
  for (const Fallback& one : fallbacks_) {
    if (now_ < one.until) continue;
    add(one.trouble,
        judge_alone(one.trouble, {},
                    fmt::format("{} did not answer when asked who is late", name_rank(0, member(0).host))));
  }
  for (const auto& verdict : verdicts) poison(verdict, rank_);
}

/// Ends one communicator on its members. On rank 0, this tells the verdict to the members. On another rank, which has
/// decided alone or got the verdict from rank 0, it tells rank 0, unless that is the `teller`, who knows already.
void Control::poison(const watch_messages::Verdict& verdict, Rank teller) {
  const std::uint64_t id = *verdict.communicator;
  if (failed_ || is_poisoned(id)) return;
  if (poisoned_.size() == most_poisoned) poisoned_.erase(poisoned_.begin());
  poisoned_.push_back(id);
  log_info(Subsystem::Job, "a communicator has failed: {}", verdict.reason.message());
  std::erase_if(inquiries_, [&](const Inquiry& inquiry) { return inquiry.trouble.communicator == id; });
  std::erase_if(fallbacks_, [&](const Fallback& one) { return one.trouble.communicator == id; });
  for (Rank rank = 0; rank < size(); ++rank) {
    Channel& channel = member(rank).channel;
    const bool is_to_know = rank_ != 0 || aggregates(rank) || is_among(verdict.members, rank);
    if (channel.is_open() && rank != teller && is_to_know) watch_messages::send_verdict(channel, verdict);
  }
  if (!aggregates(rank_) && !is_among(verdict.members, rank_)) return;
  attendant_.poison(id, verdict.reason);
  help_until_ = std::max(help_until_, now_ + longest_leave);  // so that the members release each other's memory
}

void Control::decide_alone(const Trouble& trouble) {
  std::vector<Account> accounts(members_.size(), Account{.state = Account::State::Left, .posted = {}});
  accounts[0] = account_of_leaver(trouble, member(0).reached, now_ - member(0).left_at);
  if (trouble.name.empty()) {
    accounts[static_cast<std::size_t>(rank_)] = account_of(watched_.posted(trouble.communicator, trouble.run));
  }
  for (const auto& [rank, posted] : trouble.heard) accounts[static_cast<std::size_t>(rank)] = account_of(posted);
  const std::string reason = fmt::format("{} has left, so that nobody knows who is late", name_rank(0, member(0).host));
  if (trouble.may_be_due_to(0) && accounts[0].state == Account::State::LeftBefore) {
    if (const auto verdict = judge(trouble, rank_, accounts)) poison({*verdict, trouble.communicator, {}}, 0);
  } else if (trouble.kind != Trouble::Kind::Stalled) {
    poison({judge_alone(trouble, accounts, reason), trouble.communicator, {}}, 0);
  } else if (trouble.name.empty()) {
    attendant_.tell_members(trouble.communicator, trouble.run);
  }
}

}  // namespace lacuna::runtime
