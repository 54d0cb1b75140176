#include "runtime/job/inquiry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/job/agreement.hpp"
#include "runtime/job/names.hpp"
#include "runtime/values/digest.hpp"

namespace lacuna::runtime {

namespace {

using State = Account::State;

std::vector<Rank> ranks_in(const std::vector<Account>& accounts, State state) {
  std::vector<Rank> ranks;
  for (std::size_t rank = 0; rank < accounts.size(); ++rank) {
    if (accounts[rank].state == state) ranks.push_back(static_cast<Rank>(rank));
  }
  return ranks;
}

std::string has_or_have(const std::vector<Rank>& ranks) {
  return name_ranks(ranks) + (ranks.size() == 1 ? " has" : " have");
}

/// Names the ranks for which the others wait: "; rank 2 has not posted it; ranks 3, 4 did not answer".
/// Empty if all have posted it.
std::string who_is_late(const std::vector<Account>& accounts) {
  std::string text;
  const std::vector<Rank> late = ranks_in(accounts, State::NotPosted);
  const std::vector<Rank> silent = ranks_in(accounts, State::Unknown);
  if (!late.empty()) text += fmt::format("; {} not posted it", has_or_have(late));
  if (!silent.empty()) text += fmt::format("; {} did not answer", name_ranks(silent));
  return text;
}

/// Leaves out the accounts of ranks that have nothing to do with the trouble.
void leave_out_strangers(const Trouble& trouble, std::vector<Account>& accounts) {
  for (std::size_t rank = 0; rank < accounts.size(); ++rank) {
    if (!trouble.may_be_due_to(static_cast<Rank>(rank))) accounts[rank] = {.state = State::Stranger, .posted = {}};
  }
}

/// "call 3", or "call 3 of ranks 0, 2" if these are not all ranks of the job.
std::string name_call(const Trouble& trouble, std::uint32_t run) {
  if (trouble.members.empty()) return fmt::format("call {}", run);
  std::vector<Rank> members = trouble.members;
  std::sort(members.begin(), members.end());
  return fmt::format("call {} of {}", run, name_ranks(members));
}

/// The verdict if ranks posted different calls. Nothing if they did not.
std::optional<Status> difference_among(const Trouble& trouble, const std::vector<Account>& accounts) {
  std::vector<Statement> statements;
  for (Rank rank : ranks_in(accounts, State::Posted)) {
    statements.push_back({rank, accounts[static_cast<std::size_t>(rank)].posted});
  }
  auto differs = difference(trouble.run, statements, [&](std::uint32_t run) { return name_call(trouble, run); });
  if (!differs) return std::nullopt;
  return Status(Code::Mismatch, *std::move(differs));
}

/// The verdict if one rank, which the trouble's text names, can't do what its caller asks for.
Status refusal(const Trouble& trouble) {
  return {Code::InvalidArgument, fmt::format("{} was refused: {}", name_of(trouble), trouble.text)};
}

}  // namespace

std::string name_of(const Trouble& trouble) {
  return trouble.name.empty() ? name_call(trouble, trouble.run) : trouble.name;
}

CallId call_of(const Trouble& trouble) {
  if (trouble.name.empty()) return {trouble.communicator, trouble.run};
  return {Digest().add(trouble.communicator).add(trouble.name).value(), trouble.run};
}

Account account_of(std::optional<Posted> posted) {
  if (!posted) return {.state = State::NotPosted, .posted = {}};
  return {.state = State::Posted, .posted = *std::move(posted)};
}

Account account_of_leaver(const Trouble& trouble, const std::vector<Reach>& reached, Clock::duration gone_for) {
  const auto reach = std::find_if(reached.begin(), reached.end(), [&](const Reach& one) {
    return one.communicator == trouble.communicator && comes_before(trouble.run, one.next_run);
  });
  if (trouble.name.empty() && reach != reached.end()) {
    Posted posted = posted_at(*reach, trouble.run);
    return {.state = posted.digest == 0 ? State::Left : State::Posted, .posted = std::move(posted)};
  }
  const bool is_cut_off = trouble.kind == Trouble::Kind::Broken;
  const bool may_come = !trouble.name.empty() && !is_cut_off && gone_for < longest_leave;
  return {.state = may_come ? State::Left : State::LeftBefore, .posted = {}};
}

std::optional<Status> judge(const Trouble& trouble, Rank reporter, std::vector<Account> accounts) {
  if (trouble.kind == Trouble::Kind::Refused) return refusal(trouble);
  leave_out_strangers(trouble, accounts);
  if (auto differs = difference_among(trouble, accounts)) return differs;
  const std::string call = name_of(trouble);
  const std::vector<Rank> left = ranks_in(accounts, State::LeftBefore);
  if (!left.empty()) {
    return Status(Code::PeerFailed, fmt::format("{} left the job before {}", name_ranks(left), call));
  }
  switch (trouble.kind) {
    case Trouble::Kind::Stalled:
      return std::nullopt;
    case Trouble::Kind::Mismatch:
      return Status(Code::Mismatch, fmt::format("{} differs: rank {} reports: {}", call, reporter, trouble.text));
    case Trouble::Kind::Broken:
      return Status(Code::Transport, fmt::format("{} failed on rank {}: {}", call, reporter, trouble.text));
    case Trouble::Kind::Expired:
    case Trouble::Kind::Refused:
      break;
  }
  std::string late = trouble.name.empty() ? who_is_late(accounts) : "";
  if (trouble.name.empty() && late.empty()) late = "; all ranks have posted it";
  return Status(Code::TimedOut, fmt::format("{} ran out of time on rank {}: {}{}", call, reporter, trouble.text, late));
}

std::optional<std::string> lateness(const Trouble& trouble, Rank reporter, std::vector<Account> accounts) {
  if (trouble.waited.count() == 0) return std::nullopt;
  leave_out_strangers(trouble, accounts);
  const std::string late = who_is_late(accounts);
  if (late.empty()) return std::nullopt;
  return fmt::format("{} has not ended on rank {} after {:.0f} s: {}{}", name_of(trouble), reporter,
                     std::chrono::duration<double>(trouble.waited).count(), trouble.text, late);
}

Status judge_alone(const Trouble& trouble, const std::vector<Account>& known, std::string_view reason) {
  if (trouble.kind == Trouble::Kind::Refused) return refusal(trouble);
  if (auto differs = difference_among(trouble, known)) return *std::move(differs);
  const auto [code, what] = [&]() -> std::pair<Code, std::string_view> {
    if (trouble.kind == Trouble::Kind::Mismatch) return {Code::Mismatch, "differs"};
    if (trouble.kind == Trouble::Kind::Broken) return {Code::Transport, "failed"};
    return {Code::TimedOut, "ran out of time"};
  }();
  const bool is_late = code == Code::TimedOut;
  return {code, fmt::format("{} {}: {}{}{}", name_of(trouble), what, trouble.text, is_late ? "; " : "",
                            is_late ? reason : "")};
}

bool Throttle::admit(const CallId& call, Clock::time_point now) {
  std::erase_if(last_, [&](const auto& entry) { return now - entry.second >= interval_; });
  return last_.size() < most_calls && last_.emplace(call, now).second;
}

}  // namespace lacuna::runtime
