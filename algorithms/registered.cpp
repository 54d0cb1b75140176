#include "algorithms/registered.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/verify.hpp"

namespace lacuna {
namespace {

constexpr Rank checked_at_once = 16;
constexpr Rank most_checked = 64;  // the cost grows with the square of the steps

Status check_graphs(const Algorithm& algorithm, Rank size, int skip_steps, bool in_place) {
  std::vector<Graph> graphs;
  for (Rank position = 0; position < size; ++position) {
    GraphBuilder builder({.collective = algorithm.collective,
                          .size = size,
                          .position = position,
                          .in_place = in_place,
                          .skip_steps = skip_steps},
                         algorithm.symmetric);
    algorithm.build(builder);
    if (!builder.status()) return builder.status();
    graphs.push_back(std::move(builder).build());
  }
  std::vector<const Graph*> all;
  for (const Graph& graph : graphs) all.push_back(&graph);
  return verify(all);
}

}  // namespace

Status check_graphs(const Algorithm& algorithm, Rank size, int skip_steps) {
  for (bool in_place : {false, true}) {
    if (Status fits = check_graphs(algorithm, size, skip_steps, in_place); !fits) {
      return {fits.code(), fmt::format("{} {} on {} ranks{}: {}", to_string(algorithm.collective), algorithm.name, size,
                                       in_place ? ", in place" : "", fits.message())};
    }
  }
  return {};
}

Status RegisteredAlgorithms::add(const Algorithm& algorithm) {
  if (algorithm.name.empty() || !algorithm.build) {
    return {Code::InvalidArgument, "an algorithm needs a name and a build function"};
  }
  Entry entry{.algorithm = &algorithm, .verified = {}};
  for (Rank size = 1; size <= checked_at_once; ++size) {
    if (algorithm.supports && !algorithm.supports({.collective = algorithm.collective}, size)) continue;
    if (Status fits = check_graphs(algorithm, size, 0); !fits) return fits;
    entry.verified.emplace(size, 0);
  }
  const std::lock_guard lock(mutex_);
  for (const Entry& other : entries_) {
    if (other.algorithm->collective == algorithm.collective && other.algorithm->name == algorithm.name) {
      return {Code::InvalidArgument, fmt::format("the name '{1}' of this {0} algorithm is taken",
                                                 to_string(algorithm.collective), algorithm.name)};
    }
  }
  entries_.push_back(std::move(entry));
  return {};
}

const Algorithm* RegisteredAlgorithms::find(Collective collective, std::string_view name) {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.algorithm->collective == collective && entry.algorithm->name == name) return entry.algorithm;
  }
  return nullptr;
}

Status RegisteredAlgorithms::verified(const Algorithm& algorithm, Rank size, int skip_steps) {
  if (size > most_checked) return {};
  const std::lock_guard lock(mutex_);
  const auto entry =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) { return one.algorithm == &algorithm; });
  if (entry == entries_.end() || entry->verified.contains({size, skip_steps})) return {};
  if (Status fits = check_graphs(algorithm, size, skip_steps); !fits) return fits;
  entry->verified.emplace(size, skip_steps);
  return {};
}

}  // namespace lacuna
