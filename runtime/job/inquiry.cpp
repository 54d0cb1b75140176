#include "runtime/job/inquiry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/job/names.hpp"

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

struct Group {
  Watched::Posted posted;
  std::vector<Rank> ranks;
};

/// Ranks that posted the same, in the order of their lowest ranks.
std::vector<Group> groups_of(const std::vector<Account>& accounts) {
  std::vector<Group> groups;
  for (Rank rank : ranks_in(accounts, State::Posted)) {
    const Watched::Posted& posted = accounts[static_cast<std::size_t>(rank)].posted;
    if (posted.digest == 0) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& one) { return one.posted.digest == posted.digest; });
    if (group == groups.end()) group = groups.insert(groups.end(), {posted, {}});
    group->ranks.push_back(rank);
  }
  return groups;
}

std::string has_or_have(const std::vector<Rank>& ranks) {
  return name_ranks(ranks) + (ranks.size() == 1 ? " has" : " have");
}

/// Who keeps the others waiting: "; rank 2 has not posted it; ranks 3, 4 did not answer".
std::string who_is_late(const std::vector<Account>& accounts) {
  std::string text;
  const std::vector<Rank> late = ranks_in(accounts, State::NotPosted);
  const std::vector<Rank> silent = ranks_in(accounts, State::Unknown);
  if (!late.empty()) text += fmt::format("; {} not posted it", has_or_have(late));
  if (!silent.empty()) text += fmt::format("; {} did not answer", name_ranks(silent));
  return text.empty() ? "; all ranks have posted it" : text;
}

/// "call 3", or "call 3 of ranks 0, 2" where these are not all.
std::string name_call(const Trouble& trouble) {
  if (!trouble.name.empty()) return trouble.name;
  if (trouble.members.empty()) return fmt::format("call {}", trouble.run);
  std::vector<Rank> members = trouble.members;
  std::sort(members.begin(), members.end());
  return fmt::format("call {} of {}", trouble.run, name_ranks(members));
}

}  // namespace

Account account_of(std::optional<Watched::Posted> posted) {
  if (!posted) return {.state = State::NotPosted, .posted = {}};
  return {.state = State::Posted, .posted = *std::move(posted)};
}

Account account_of_leaver(const Trouble& trouble, const std::vector<Reach>& reached, Clock::duration gone_for) {
  const bool had_posted = std::any_of(reached.begin(), reached.end(), [&](const Reach& reach) {
    return reach.communicator == trouble.communicator && trouble.run < reach.next_run;
  });
  const bool may_come = trouble.name.empty() ? had_posted : gone_for < longest_leave;
  return {.state = may_come ? State::Left : State::LeftBefore, .posted = {}};
}

std::optional<Status> judge(const Trouble& trouble, Rank reporter, std::vector<Account> accounts) {
  for (std::size_t rank = 0; rank < accounts.size(); ++rank) {
    if (!trouble.concerns(static_cast<Rank>(rank))) accounts[rank] = {.state = Account::State::Stranger, .posted = {}};
  }
  const std::string call = name_call(trouble);
  const std::vector<Group> groups = groups_of(accounts);
  if (groups.size() > 1) {
    std::string text = fmt::format("{} differs", call);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      text += fmt::format("{} {} posted {}", i == 0 ? ":" : ";", name_ranks(groups[i].ranks), groups[i].posted.text);
    }
    return Status(Code::Mismatch, std::move(text));
  }
  const std::vector<Rank> left = ranks_in(accounts, State::LeftBefore);
  if (!left.empty()) {
    return Status(Code::PeerFailed, fmt::format("{} left the job before {}", name_ranks(left), call));
  }
  switch (trouble.kind) {
    case Trouble::Kind::Stalled:
      return std::nullopt;
    case Trouble::Kind::Mismatch:
      return Status(Code::Mismatch, fmt::format("{} differs: rank {} reports: {}", call, reporter, trouble.text));
    case Trouble::Kind::Expired:
      break;
  }
  return Status(Code::TimedOut, fmt::format("{} ran out of time on rank {}: {}{}", call, reporter, trouble.text,
                                            trouble.name.empty() ? who_is_late(accounts) : ""));
}

Status judge_alone(const Trouble& trouble, std::string_view reason) {
  const bool differs = trouble.kind == Trouble::Kind::Mismatch;
  return {
      differs ? Code::Mismatch : Code::TimedOut,
      fmt::format("{} {}: {}; {}", name_call(trouble), differs ? "differs" : "ran out of time", trouble.text, reason)};
}

bool Throttle::admit(const CallId& call, Clock::time_point now) {
  std::erase_if(last_, [&](const auto& entry) { return now - entry.second >= interval_; });
  return last_.emplace(call, now).second;
}

}  // namespace lacuna::runtime
