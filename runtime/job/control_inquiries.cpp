#include <fmt/format.h>

#include <algorithm>

#include "runtime/job/control.hpp"
#include "runtime/job/names.hpp"

namespace lacuna::runtime {

void Control::raise(Trouble trouble) {
  if (failed_) return;
  if (rank_ == 0) return inquire(0, std::move(trouble));
  if (member(0).has_left) return decide_alone(trouble);
  watch_messages::send_report(member(0).channel, trouble);
  if (trouble.kind != Trouble::Kind::Stalled && !fallback_) {
    fallback_ = Fallback{.trouble = std::move(trouble), .until = now_ + times_.fallback};
  }
}

void Control::inquire(Rank reporter, Trouble trouble) {
  if (failed_ || member(0).has_left) return;
  const CallId call(trouble.communicator, trouble.run);
  const bool can_wait = trouble.kind == Trouble::Kind::Stalled;
  for (Inquiry& open : inquiries_) {
    if (CallId(open.trouble.communicator, open.trouble.run) != call) continue;
    if (open.trouble.kind == Trouble::Kind::Stalled && !can_wait) {
      open.trouble = std::move(trouble);
      open.reporter = reporter;
    }
    return;
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
    if (one.has_left && account.state != Account::State::Posted) {
      account = account_of_leaver(inquiry.trouble, one.reached, inquiry.raised - one.left_at);
    }
    accounts.push_back(std::move(account));
  }
  return accounts;
}

void Control::settle() {
  std::optional<Status> verdict;
  std::erase_if(inquiries_, [&](const Inquiry& inquiry) {
    if (verdict || (now_ < inquiry.until && !is_settled(inquiry))) return false;
    verdict = judge(inquiry.trouble, inquiry.reporter, accounts_for(inquiry));
    return true;
  });
  if (fallback_ && now_ >= fallback_->until) {
    verdict = judge_alone(fallback_->trouble,
                          fmt::format("{} did not answer when asked who is late", name_rank(0, member(0).host)));
  }
  if (verdict) conclude(*verdict);
}

void Control::decide_alone(const Trouble& trouble) {
  std::vector<Account> accounts(members_.size(), Account{.state = Account::State::Left, .posted = {}});
  accounts[0] = account_of_leaver(trouble, member(0).reached, now_ - member(0).left_at);
  const std::string reason = fmt::format("{} has left, so that nobody knows who is late", name_rank(0, member(0).host));
  if (trouble.concerns(0) && accounts[0].state == Account::State::LeftBefore) {
    if (const auto verdict = judge(trouble, rank_, accounts)) conclude(*verdict);
  } else if (trouble.kind != Trouble::Kind::Stalled) {
    conclude(judge_alone(trouble, reason));
  }
}

}  // namespace lacuna::runtime
