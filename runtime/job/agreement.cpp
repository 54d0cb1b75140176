#include "runtime/job/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/job/names.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::size_t most_lines = 8;  // so many communicators get a line in the log

/// Ranks that posted the same. Parties are ordered by their lowest ranks.
struct Party {
  const Posted* posted = nullptr;
  std::vector<Rank> ranks;
};

template <class Same>
void join(std::vector<Party>& parties, Rank rank, const Posted& posted, Same same) {
  auto party =
      std::find_if(parties.begin(), parties.end(), [&](const Party& one) { return same(*one.posted, posted); });
  if (party == parties.end()) party = parties.insert(parties.end(), {&posted, {}});
  party->ranks.push_back(rank);
}

const auto same_call = [](const Posted& a, const Posted& b) { return a.digest == b.digest; };
const auto same_history = [](const Posted& a, const Posted& b) { return a.history == b.history; };

std::string sides(const std::vector<Party>& parties) {
  std::string text;
  for (const Party& party : parties) {
    text += fmt::format("{}{} posted {}", text.empty() ? "" : "; ", name_ranks(party.ranks), party.posted->text);
  }
  return text;
}

struct Leaver {
  Rank rank = 0;
  const Reach* reach = nullptr;
};

/// Describes the first call that not all ranks made before they left.
std::string unequal_ends(std::uint32_t first_lacking, const std::vector<Leaver>& leavers, const std::string& call) {
  std::vector<Rank> without;
  std::vector<Statement> with;
  std::vector<Party> parties;
  for (const Leaver& one : leavers) {
    if (one.reach->next_run == first_lacking) {
      without.push_back(one.rank);
    } else {
      with.push_back({one.rank, posted_at(*one.reach, first_lacking)});
    }
  }
  for (Statement& one : with) {
    if (one.posted.digest == 0) one.posted.text = "it";
    join(parties, one.rank, one.posted, same_call);
  }
  return fmt::format("{} left before {}; {}", name_ranks(without), call, sides(parties));
}

std::optional<std::string> disagreement(std::uint64_t communicator, const std::vector<Leaver>& leavers) {
  const auto fewer = [](const Leaver& a, const Leaver& b) {
    return comes_before(a.reach->next_run, b.reach->next_run);
  };
  const std::uint32_t common = std::min_element(leavers.begin(), leavers.end(), fewer)->reach->next_run;
  const Reach& first = *leavers.front().reach;
  const auto like_first = [&](const Leaver& one) {
    return one.reach->next_run == first.next_run && same_history(one.reach->last, first.last);
  };
  if (std::all_of(leavers.begin(), leavers.end(), like_first)) return std::nullopt;
  const auto name = [&](std::uint32_t run) {
    return fmt::format("call {} on communicator {:016x}", run, communicator);
  };
  std::vector<Statement> statements;
  for (const Leaver& one : leavers) statements.push_back({one.rank, posted_at(*one.reach, common - 1)});
  if (auto differs = difference(common - 1, statements, name)) return differs;
  const auto all_came_as_far = [&](const Leaver& one) { return one.reach->next_run == common; };
  if (std::all_of(leavers.begin(), leavers.end(), all_came_as_far)) return std::nullopt;
  return unequal_ends(common, leavers, name(common));
}

}  // namespace

std::optional<std::string> difference(std::uint32_t run, const std::vector<Statement>& statements,
                                      const NameOfCall& name) {
  std::size_t remembered = 0;
  for (const Statement& one : statements) remembered = std::max(remembered, one.posted.before.size());
  for (std::size_t steps = remembered + 1; steps-- > 0;) {
    std::vector<Party> parties;
    for (const Statement& one : statements) {
      const Posted& posted = earlier(one.posted, steps);
      if (posted.digest != 0) join(parties, one.rank, posted, same_call);
    }
    if (parties.size() > 1) return name(run - static_cast<std::uint32_t>(steps)) + " differs: " + sides(parties);
  }
  std::vector<Party> parties;
  for (const Statement& one : statements) {
    if (one.posted.history != 0) join(parties, one.rank, one.posted, same_history);
  }
  if (parties.size() < 2) return std::nullopt;
  std::string text = fmt::format("a call up to {} differed between", name(run));
  for (std::size_t i = 0; i < parties.size(); ++i) {
    text += fmt::format("{} {}", i == 0 ? "" : i + 1 < parties.size() ? "," : " and", name_ranks(parties[i].ranks));
  }
  return text + "; no rank remembers any more which one";
}

std::vector<std::string> disagreements(const std::vector<std::vector<Reach>>& reached) {
  std::map<std::uint64_t, std::vector<Leaver>> communicators;
  for (std::size_t rank = 0; rank < reached.size(); ++rank) {
    for (const Reach& one : reached[rank]) {
      if (!one.failed) communicators[one.communicator].push_back({static_cast<Rank>(rank), &one});
    }
  }
  std::vector<std::string> lines;
  for (const auto& [communicator, leavers] : communicators) {
    if (auto line = disagreement(communicator, leavers)) lines.push_back(*std::move(line));
  }
  return lines;
}

void log_disagreements(const std::vector<std::vector<Reach>>& reached) {
  const std::vector<std::string> lines = disagreements(reached);
  for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i) {
    log_last_error(Subsystem::Job, "the ranks did not agree: {}", lines[i]);
  }
  if (lines.size() > most_lines) {
    log_last_error(Subsystem::Job, "the ranks did not agree on {} more communicators", lines.size() - most_lines);
  }
}

}  // namespace lacuna::runtime
